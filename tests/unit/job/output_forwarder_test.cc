// The forwarder writes to real pipes.
#include "control/job/origin/output_forwarder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    reading.reset(ends[0]);
    writing.reset(ends[1]);
    fcntl(reading.get(), F_SETFL, O_NONBLOCK);
  }
  void write(const std::string& text) {
    EXPECT_EQ(::write(writing.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // All that is there now.
  std::string read() {
    std::string text;
    char buffer[65536];
    for (ssize_t count = 0; (count = ::read(reading.get(), buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<std::size_t>(count));
    return text;
  }
  FileDescriptor reading;
  FileDescriptor writing;
};

class OutputForwarderTest : public ::testing::Test {
 protected:
  OutputForwarderTest() { signal(SIGPIPE, SIG_IGN); }

  // One round of the loop; what is ready is handled, nothing is waited for.
  void step() {
    PollSet poll_set;
    forwarder_.watch(poll_set);
    poll_set.wait(0);
  }
  void steps(int count) {
    for (int i = 0; i < count; ++i) step();
  }

  Pipe out_;
  Pipe err_;
  OutputForwarder forwarder_{out_.writing.get(), err_.writing.get(), false};
};

TEST_F(OutputForwarderTest, KeepsTheTwoStreamsApart) {
  forwarder_.take(0, false, "out\n");
  forwarder_.take(0, true, "err\n");
  steps(3);
  EXPECT_EQ(out_.read(), "out\n");
  EXPECT_EQ(err_.read(), "err\n");
}

TEST_F(OutputForwarderTest, CompletesLinesAndDropsWhatNobodyReads) {
  forwarder_.take(0, false, "first ");
  forwarder_.take(1, false, "other\n");
  forwarder_.take(1, true, "err\n");
  EXPECT_FALSE(forwarder_.written_all());
  steps(2);
  EXPECT_EQ(out_.read(), "first \nother\n");
  EXPECT_EQ(err_.read(), "err\n");
  EXPECT_TRUE(forwarder_.written_all());
  EXPECT_FALSE(forwarder_.reader_gone(false));
  out_.reading.reset();
  forwarder_.take(0, false, "lost\n");
  steps(2);
  EXPECT_TRUE(forwarder_.reader_gone(false));
  EXPECT_FALSE(forwarder_.reader_gone(true));
  forwarder_.take(0, false, "lost too\n");
  EXPECT_TRUE(forwarder_.written_all());
}

TEST_F(OutputForwarderTest, LosesNothingWhileTheReaderIsBlocked) {
  std::string line(99, 'x');
  line += '\n';
  std::string sent;
  while (sent.size() < (1U << 20)) {
    forwarder_.take(0, false, line);
    sent += line;
    if (sent.size() % 12800 == 0) step();
  }
  EXPECT_FALSE(forwarder_.written_all());
  std::string received;
  while (!forwarder_.written_all()) {
    step();
    received += out_.read();
  }
  EXPECT_EQ(received + out_.read(), sent);
}

TEST_F(OutputForwarderTest, WritesNotesToErrors) {
  forwarder_.note("lapirun: hello");
  steps(2);
  EXPECT_EQ(err_.read(), "lapirun: hello\n");
}

}  // namespace
}  // namespace openlapi
