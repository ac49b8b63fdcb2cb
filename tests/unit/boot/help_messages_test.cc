#include "control/boot/errors/help_messages.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "control/boot/include/etc_misc.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi::boot {
namespace {

constexpr char kFile[] =
    "# ours\n-*-boot:first-*-\n# %1 host\n%1: no\n  # nor this\nsecond line\n-*-boot:second-*-\nother\n";

TEST(HelpFile, HasBlocksWithoutTheirComments) {
  std::string block;
  EXPECT_TRUE(find_help(kFile, "boot", "first", block));
  EXPECT_EQ(block, "%1: no\nsecond line\n");
  EXPECT_TRUE(find_help(kFile, "boot", "second", block));
  EXPECT_EQ(block, "other\n");
  EXPECT_FALSE(find_help(kFile, "boot", "third", block));
  EXPECT_FALSE(find_help("", "boot", "first", block));
}

TEST(HelpFile, ArgumentsTakeTheirPlaces) {
  EXPECT_EQ(with_arguments("%1 and %2, %2!", {"a", "b"}, 0), "a and b, b!");
  EXPECT_EQ(with_arguments("%3 %0 100% %", {"a"}, 0), "  100% %");
  EXPECT_EQ(with_arguments("%10%1", {"a", "b", "c", "d", "e", "f", "g", "h", "i", "%1"}, 0), "%1a");
  EXPECT_EQ(with_arguments("%perror (%errno)", {}, ENOENT),
            std::string(std::strerror(ENOENT)) + " (" + std::to_string(ENOENT) + ")");
}

class ShowHelp : public testing::Test {
 protected:
  ShowHelp() {
    setenv("LAMHELPDIR", folder_.c_str(), 1);
    setenv("HOME", (folder_ + "/home").c_str(), 1);
  }
  ~ShowHelp() override { unsetenv("LAMHELPDIR"); }
  template <typename... Words>
  static std::string shown(const char* program, const char* topic, Words... words) {
    testing::internal::CaptureStderr();
    show_help(program, topic, words..., static_cast<const char*>(nullptr));
    return testing::internal::GetCapturedStderr();
  }
  const test::TemporaryFolder made_;
  const std::string folder_ = made_.path();
};

TEST_F(ShowHelp, PrintsTheMessageOfTheFirstFileThatHasIt) {
  std::ofstream(folder_ + "/lam-helpfile") << kFile;
  EXPECT_EQ(shown("boot", "first", "host7"), "host7: no\nsecond line\n");
  std::filesystem::create_directories(folder_ + "/home");
  std::ofstream(folder_ + "/home/lam-helpfile") << "-*-boot:first-*-\nmine: %1\n";
  EXPECT_EQ(shown("boot", "first", "host7"), "mine: host7\n");
  EXPECT_EQ(shown("boot", "second"), "other\n");
}

TEST_F(ShowHelp, PrintsWhatItKnowsWithoutAFile) {
  const std::string name = program_invocation_short_name;
  EXPECT_EQ(shown("strange-program", "topic", "one", "two"), name + ": strange-program: topic: one, two\n");
  EXPECT_EQ(shown(nullptr, "no-such-topic"), name + ": ALL: no-such-topic\n");
}

}  // namespace
}  // namespace openlapi::boot
