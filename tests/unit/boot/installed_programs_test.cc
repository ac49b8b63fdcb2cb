#include "control/base/installed_programs.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

namespace openlapi {
namespace {

namespace fs = std::filesystem;
using Folders = std::vector<std::string>;

class InstalledProgramsTest : public ::testing::Test {
 protected:
  InstalledProgramsTest() {
    std::string pattern = (fs::temp_directory_path() / "installed_programs.XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    fs::create_directories(bin());
    helpers_ = fs::weakly_canonical(bin() + "/" + kBinToHelpers).string();
  }
  ~InstalledProgramsTest() override { fs::remove_all(folder_); }

  std::string prefix() const { return folder_ + "/some/where"; }
  std::string bin() const { return prefix() + "/bin"; }
  void install(const std::string& folder, const std::string& name) {
    fs::create_directories(folder);
    std::ofstream(folder + "/" + name) << "#!/bin/sh\n";
    chmod((folder + "/" + name).c_str(), 0700);
  }

  std::string folder_{}, helpers_{};
};

TEST_F(InstalledProgramsTest, FindsOneFolderFromTheOther) {
  install(helpers_, "lamd");
  EXPECT_EQ(folders_of_installation(bin()), Folders({helpers_, bin()}));
  EXPECT_EQ(folders_of_installation(helpers_), Folders({helpers_, bin()}));
}

TEST_F(InstalledProgramsTest, AFolderOfAllProgramsIsAlone) {
  EXPECT_EQ(folders_of_installation(bin()), Folders({bin()}));
  // The bin that would be this folder's, if it were the one of libexec, has another.
  install(helpers_, "lamd");
  const std::string beside = helpers_ + "-of-others";
  fs::create_directories(beside);
  EXPECT_EQ(folders_of_installation(beside), Folders({beside}));
}

TEST_F(InstalledProgramsTest, AProgramOfAPrefixIsTakenFromWhereItIs) {
  install(bin(), "tkill");
  install(bin(), "lamd");
  EXPECT_EQ(program_below(prefix(), "lamd"), bin() + "/lamd");
  install(helpers_, "lamd");
  EXPECT_EQ(program_below(prefix(), "lamd"), helpers_ + "/lamd") << "one in bin is of an older installation";
  EXPECT_EQ(program_below(prefix(), "tkill"), bin() + "/tkill");
  EXPECT_EQ(program_below(prefix(), "absent"), bin() + "/absent");
}

TEST_F(InstalledProgramsTest, SettingsAreFoundFromBothFoldersOfPrograms) {
  install(helpers_, "lamd");
  const fs::path settings = fs::weakly_canonical(bin() + "/" + kBinToSettings);
  EXPECT_EQ(settings_of_installation(bin()), "") << "there are none yet";
  fs::create_directories(settings);
  EXPECT_EQ(settings_of_installation(bin()), settings);
  EXPECT_EQ(settings_of_installation(helpers_), settings);
}

TEST_F(InstalledProgramsTest, BothComeFirstInThePath) {
  install(helpers_, "lamd");
  const std::string before = std::getenv("PATH");
  setenv("PATH", "/usr/bin", 1);
  prefer_programs_of(bin());
  EXPECT_EQ(std::getenv("PATH"), helpers_ + ":" + bin() + ":/usr/bin");
  setenv("PATH", before.c_str(), 1);
}

TEST_F(InstalledProgramsTest, APathOfItsNameIsFoundFromEveryWorkingDirectory) {
  char by_this_path[] = "./lamboot", by_a_lost_path[] = "absent/lamboot";
  const std::string before = std::getenv("PATH");
  const fs::path here = fs::current_path();
  fs::current_path(bin());
  setenv("PATH", "/usr/bin", 1);
  char* name = std::exchange(program_invocation_name, by_this_path);
  prefer_own_programs();
  EXPECT_TRUE(std::string(std::getenv("PATH")).starts_with(fs::canonical(bin()).string() + ":/"))
      << std::getenv("PATH");
  program_invocation_name = by_a_lost_path;
  setenv("PATH", "/usr/bin", 1);
  prefer_own_programs();
  EXPECT_TRUE(std::string(std::getenv("PATH")).starts_with("/")) << std::getenv("PATH");
  program_invocation_name = name;
  fs::current_path(here);
  setenv("PATH", before.c_str(), 1);
}

TEST_F(InstalledProgramsTest, TheSearchPathIsLookedThrough) {
  install(bin(), "lamd");
  std::ofstream(bin() + "/plain") << "no program\n";
  const std::string before = std::getenv("PATH");
  setenv("PATH", ("/absent::" + bin()).c_str(), 1);
  EXPECT_TRUE(is_in_search_path("lamd"));
  EXPECT_TRUE(is_in_search_path(bin() + "/lamd"));
  for (const char* name : {"plain", "absent", "/lamd"}) EXPECT_FALSE(is_in_search_path(name)) << name;
  setenv("PATH", before.c_str(), 1);
}

TEST_F(InstalledProgramsTest, HbootInFrontOfAProgramIsLeftOut) {
  char hboot[] = "hboot", lamd[] = "lamd", option[] = "-I";
  char* runs_a_program[] = {hboot, lamd, option, nullptr};
  char* boots[] = {hboot, option, lamd, nullptr};
  char* alone[] = {hboot, nullptr};
  char* other[] = {lamd, hboot, nullptr};
  EXPECT_EQ(without_hboot(runs_a_program), runs_a_program + 1);
  for (char** words : {boots, alone, other}) EXPECT_EQ(without_hboot(words), words);
}

}  // namespace
}  // namespace openlapi
