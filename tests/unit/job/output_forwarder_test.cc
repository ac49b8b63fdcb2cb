// The forwarder over real pipes.
#include "control/job/origin/output_forwarder.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>

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

  void add_task(std::uint32_t task, Pipe& output, Pipe& errors) {
    forwarder_.add_task(task, std::move(output.reading), std::move(errors.reading));
  }
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
  Pipe output, errors;
  add_task(0, output, errors);
  output.write("out\n");
  errors.write("err\n");
  steps(3);
  EXPECT_EQ(out_.read(), "out\n");
  EXPECT_EQ(err_.read(), "err\n");
}

TEST_F(OutputForwarderTest, DoesNotMixLinesOfTasks) {
  Pipe output0, errors0, output1, errors1;
  add_task(0, output0, errors0);
  add_task(1, output1, errors1);
  output0.write("first ");
  step();
  output1.write("other\n");
  steps(2);
  output0.write("half\n");
  steps(3);
  EXPECT_EQ(out_.read(), "other\nfirst half\n");
}

TEST_F(OutputForwarderTest, TakesLinesThatAnotherProcessHasRead) {
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

TEST_F(OutputForwarderTest, PassesAnUnfinishedLineOnAtTheEnd) {
  Pipe output, errors;
  add_task(0, output, errors);
  output.write("no newline");
  steps(2);
  EXPECT_EQ(out_.read(), "");
  output.writing.reset();
  errors.writing.reset();
  steps(4);
  EXPECT_EQ(out_.read(), "no newline");
  EXPECT_TRUE(forwarder_.read_all());
  EXPECT_TRUE(forwarder_.written_all());
}

TEST_F(OutputForwarderTest, LosesNothingWhileTheReaderIsBlocked) {
  Pipe output, errors;
  fcntl(output.writing.get(), F_SETFL, O_NONBLOCK);
  add_task(0, output, errors);
  std::string line(99, 'x');
  line += '\n';
  std::size_t sent = 0;
  // Until nobody takes more: the task is made to wait instead of the forwarder growing without bound.
  for (int idle = 0; idle < 10;) {
    if (::write(output.writing.get(), line.data(), line.size()) == static_cast<ssize_t>(line.size())) {
      sent += line.size();
      idle = 0;
    } else {
      step();
      ++idle;
    }
    ASSERT_LT(sent, 64U << 20);
  }
  EXPECT_GT(sent, 1U << 20);
  output.writing.reset();
  errors.writing.reset();
  std::string received;
  while (!forwarder_.read_all() || !forwarder_.written_all()) {
    step();
    received += out_.read();
  }
  EXPECT_EQ(received.size(), sent);
  EXPECT_EQ(received.substr(received.size() - line.size()), line);
}

TEST_F(OutputForwarderTest, ClosesTheTasksPipesWhenTheReaderIsGone) {
  Pipe output, errors;
  add_task(0, output, errors);
  out_.reading.reset();
  output.write("lost\n");
  steps(4);
  EXPECT_EQ(::write(output.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  errors.write("still\n");
  steps(3);
  EXPECT_EQ(err_.read(), "still\n");
}

TEST_F(OutputForwarderTest, WritesNotesToErrors) {
  forwarder_.note("lapirun: hello");
  steps(2);
  EXPECT_EQ(err_.read(), "lapirun: hello\n");
}

TEST_F(OutputForwarderTest, GivesUpAPipeThatStaysOpen) {
  Pipe output, errors;
  add_task(0, output, errors);
  output.write("rest");
  steps(2);
  EXPECT_FALSE(forwarder_.read_all());
  forwarder_.give_up_reading();
  EXPECT_TRUE(forwarder_.read_all());
  steps(2);
  EXPECT_EQ(out_.read(), "rest");
}

}  // namespace
}  // namespace openlapi
