#include "control/job/node/task_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <csignal>
#include <string>

namespace openlapi::jobs {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    reading.reset(ends[0]);
    writing.reset(ends[1]);
  }
  FileDescriptor reading, writing;
};

class TaskOutputReaderTest : public testing::Test {
 protected:
  void SetUp() override { reader.add_task(3, std::move(output.reading), std::move(errors.reading)); }
  void step() {
    PollSet poll_set;
    reader.watch(poll_set);
    poll_set.wait(0);
  }
  void write(const Pipe& pipe, const std::string& text) {
    ASSERT_EQ(::write(pipe.writing.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  Pipe output, errors;
  std::string lines{};
  TaskOutputReader reader{[this](const TaskOutput& piece) {
    lines += std::to_string(piece.task) + (piece.is_errors != 0 ? "e" : "o") +
             std::string(piece.bytes.begin(), piece.bytes.end()) + "|";
  }};
};

TEST_F(TaskOutputReaderTest, PassesOnWholeLinesAndTheRestAtTheEnd) {
  write(output, "a\nb");
  write(errors, "x\n");
  step();
  EXPECT_EQ(lines, "3oa\n|3ex\n|");
  output.writing.reset();
  step();
  EXPECT_EQ(lines, "3oa\n|3ex\n|3ob|");
  EXPECT_FALSE(reader.read_all());
  reader.give_up_reading();
  EXPECT_TRUE(reader.read_all());
}

TEST_F(TaskOutputReaderTest, WaitsUntilTheWindowHasRoom) {
  std::string line(32 * 1024, 'x');
  line.back() = '\n';
  while (!reader.must_wait(false)) {
    lines.clear();
    write(output, line);
    step();
    ASSERT_FALSE(lines.empty());
  }
  EXPECT_EQ(reader.bytes_read(), kOutputWindow);
  lines.clear();
  write(output, "y\n");
  step();
  EXPECT_EQ(lines, "");
  write(errors, "x\n");
  step();
  EXPECT_EQ(lines, "3ex\n|") << "the other stream has a window of its own";
  lines.clear();
  reader.taken(kOutputWindow, true);
  step();
  EXPECT_EQ(lines, "");
  reader.taken(1, false);
  step();
  EXPECT_EQ(lines, "3oy\n|");
  EXPECT_TRUE(reader.must_wait(false));
  EXPECT_FALSE(reader.must_wait(true));
}

TEST_F(TaskOutputReaderTest, WhoWritesWhereNobodyReadsGetsToKnow) {
  signal(SIGPIPE, SIG_IGN);
  PollSet poll_set;
  reader.watch(poll_set);
  write(output, "y\n");
  reader.close(false);
  poll_set.wait(0);  // handlers of the round in which it is closed
  step();
  EXPECT_EQ(::write(output.writing.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  write(errors, "z\n");
  step();
  EXPECT_TRUE(lines.ends_with("3ez\n|"));
}

}  // namespace
}  // namespace openlapi::jobs
