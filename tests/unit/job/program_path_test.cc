#include "control/job/options/program_path.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include "control/job/options/job_options.h"

namespace openlapi {
namespace {

class ProgramPathTest : public ::testing::Test {
 protected:
  ProgramPathTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "program_path.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    make("first/tool", 0600);
    make("second/tool", 0700);
    make("second/private", 0600);
  }
  ~ProgramPathTest() override { std::filesystem::remove_all(folder_); }

  void make(const std::string& name, mode_t mode) {
    const auto path = std::filesystem::path(folder_) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << "#!/bin/sh\n";
    chmod(path.c_str(), mode);
  }
  std::string search_path() const { return folder_ + "/none:" + folder_ + "/first:" + folder_ + "/second"; }

  std::string folder_;
};

TEST_F(ProgramPathTest, SearchesThePathInOrderAndSkipsWhatCannotRun) {
  EXPECT_EQ(find_program("tool", search_path(), "").path, folder_ + "/second/tool");
}

TEST_F(ProgramPathTest, TellsNotFoundFromNotExecutable) {
  EXPECT_EQ(find_program("nothing", search_path(), "").status, kExitNotFound);
  EXPECT_EQ(find_program("private", search_path(), "").status, kExitNotExecutable);
  EXPECT_EQ(find_program(folder_ + "/second/private", "", "").status, kExitNotExecutable);
  EXPECT_EQ(find_program(folder_ + "/second", "", "").status, kExitNotExecutable);
  EXPECT_EQ(find_program(folder_ + "/absent", "", "").status, kExitNotFound);
  EXPECT_EQ(find_program("", search_path(), "").status, kExitNotFound);
}

TEST_F(ProgramPathTest, NamesTheProgram) {
  EXPECT_NE(find_program("nothing", search_path(), "").error.find("'nothing'"), std::string::npos);
}

TEST_F(ProgramPathTest, LooksForRelativeNamesInTheTasksDirectory) {
  EXPECT_EQ(find_program("second/tool", "", folder_).path, "second/tool");
  EXPECT_EQ(find_program("second/tool", "", "/").status, kExitNotFound);
  EXPECT_EQ(find_program("tool", "second", folder_).path, "second/tool");
}

TEST_F(ProgramPathTest, RefusesADirectoryThatIsNone) {
  const ProgramPath absent = find_program("tool", search_path(), folder_ + "/absent");
  EXPECT_EQ(absent.status, kExitUsage);
  EXPECT_EQ(absent.error, "cannot change to '" + folder_ + "/absent': No such file or directory");
  EXPECT_EQ(find_program("tool", search_path(), folder_ + "/second/tool").error,
            "cannot change to '" + folder_ + "/second/tool': Not a directory");
}

}  // namespace
}  // namespace openlapi
