// A folder for the files of one case; it goes with all that is in it.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace openlapi::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "openlapi-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string path(const std::string& name = {}) const { return (name.empty() ? folder_ : folder_ / name).string(); }
  void write(const std::string& name, const std::string& text, mode_t mode = 0600) const {
    std::ofstream(path(name)) << text;
    EXPECT_EQ(chmod(path(name).c_str(), mode), 0);
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace openlapi::test
