#include "control/base/file_text.h"

#include <gtest/gtest.h>

#include "tests/unit/control/temporary_folder.h"

namespace openlapi {
namespace {

TEST(FileText, IsAllThatTheFileHas) {
  const test::TemporaryFolder folder;
  const std::string text = "a\n b\n";
  folder.write("file", text);
  EXPECT_EQ(file_text(folder.path("file")), text);
  folder.write("empty", "");
  EXPECT_EQ(file_text(folder.path("empty")), "");
}

// These can be opened, as the files of a process that ends before they are read.
TEST(FileText, IsEmptyWhereItCannotBeRead) {
  EXPECT_EQ(file_text("/proc/self/mem"), "");  // EIO: nothing is at address 0
  EXPECT_EQ(file_text("/proc"), "");           // EISDIR
  EXPECT_EQ(file_text("/no/such/file"), "");
}

}  // namespace
}  // namespace openlapi
