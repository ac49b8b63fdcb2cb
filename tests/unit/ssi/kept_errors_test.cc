#include "control/ssi/kept_errors.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "control/ssi/ssi_error.h"

namespace openlapi::ssi {
namespace {

// From here on this process keeps what it writes there; gtest's own lines go to standard output.
class KeptErrors : public testing::Test {
 protected:
  KeptErrors() : saved_(dup(STDERR_FILENO)) { keep_errors(); }
  ~KeptErrors() override {
    dup2(saved_, STDERR_FILENO);
    close(saved_);
  }

  static std::string line(int number) {
    return "line " + std::to_string(number) + " of a module, as long as lines are";
  }
  static void write_lines(int first, int last) {
    std::string text;
    for (int n = first; n <= last; ++n) text += line(n) + "\n";
    ASSERT_EQ(write(STDERR_FILENO, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // They end with the last that was written, and none between is missing.
  static void expect_end_of(const std::vector<std::string>& lines, std::size_t from, int last) {
    const int first = last - static_cast<int>(lines.size() - from) + 1;
    for (std::size_t n = from; n < lines.size(); ++n) {
      ASSERT_TRUE(lines[n].ends_with(": " + line(first + static_cast<int>(n - from)))) << lines[n];
    }
  }
  static std::size_t size_of(const std::vector<std::string>& lines) {
    std::size_t bytes = 0;
    for (const std::string& each : lines) bytes += each.size();
    return bytes;
  }

  const int saved_;
};

TEST_F(KeptErrors, AreAllThereWhileTheyAreFew) {
  constexpr int kLines = 4000;  // 170 KB
  write_lines(1, kLines);
  print_error("own");
  const auto lines = take_kept_errors();
  ASSERT_EQ(lines.size(), kLines + 1u);
  EXPECT_EQ(lines[0], "own");
  expect_end_of(lines, 1, kLines);
  EXPECT_TRUE(take_kept_errors().empty());
}

TEST_F(KeptErrors, AreTheLastMiBOfMany) {
  constexpr int kLines = 200'000;  // 9 MB
  for (int first = 1; first < kLines; first += 1000) {
    write_lines(first, first + 999);
    trim_kept_errors();
  }
  const auto lines = take_kept_errors();
  EXPECT_NE(lines[0].find("bytes of messages were dropped, the last 1048576 are kept"), std::string::npos) << lines[0];
  expect_end_of(lines, 1, kLines);
  EXPECT_LE(size_of(lines), kMostKeptErrors + 200);
  EXPECT_GE(size_of(lines), kMostKeptErrors - 200);
  write_lines(1, 10);
  const auto more = take_kept_errors();
  ASSERT_EQ(more.size(), 10u);
  expect_end_of(more, 0, 10);
}

TEST_F(KeptErrors, OfHelpersBelowAreBoundedToo) {
  const std::string line(1000, 'x');
  for (int n = 0; n < 8000; ++n) print_error(line + std::to_string(n));
  const auto lines = take_kept_errors();
  EXPECT_LE(size_of(lines), kMostKeptErrors + 200);
  EXPECT_EQ(lines.back(), line + "7999");
}

}  // namespace
}  // namespace openlapi::ssi
