#include "tests/support/cases_apart.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace openlapi::test {
namespace {

// What GoogleTest lists: suites at the beginning of a line, their cases behind two spaces, both with comments.
std::vector<std::string> listed_cases() {
  std::vector<std::string> cases;
  const std::string command = "/proc/" + std::to_string(getpid()) + "/exe --gtest_list_tests --gtest_filter='" +
                              testing::GTEST_FLAG(filter) + "'";
  FILE* const list = popen(command.c_str(), "r");
  char line[1024];
  for (std::string suite; list != nullptr && std::fgets(line, sizeof line, list) != nullptr;) {
    std::string word(line);
    word = word.substr(0, word.find_first_of("#\n"));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    if (word.rfind("  ", 0) == 0) {
      cases.push_back(suite + word.substr(2));
    } else {
      suite = word;
    }
  }
  if (list != nullptr) pclose(list);
  return cases;
}

bool passes(const std::string& name) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    testing::GTEST_FLAG(filter) = name;
    const int status = RUN_ALL_TESTS();
    std::fflush(nullptr);
    _exit(status);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace

int run_cases_apart(int count, char** words) {
  testing::InitGoogleTest(&count, words);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  const std::vector<std::string> cases = listed_cases();
  std::vector<std::string> failed;
  for (const std::string& name : cases) {
    if (!passes(name)) failed.push_back(name);
  }
  std::printf("%zu cases, each in its own process, %zu failed\n", cases.size(), failed.size());
  for (const std::string& name : failed) std::printf("[  FAILED  ] %s\n", name.c_str());
  return cases.empty() || !failed.empty() ? 1 : 0;
}

}  // namespace openlapi::test
