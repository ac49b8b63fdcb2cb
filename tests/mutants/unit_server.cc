// The main program of unit tests that have mistakes: takes names of tests, as --gtest_filter does.
#include <gtest/gtest.h>

#include "tests/mutants/fork_server.h"

namespace {

class Namer : public testing::EmptyTestEventListener {
 public:
  explicit Namer(char* name) : name_(name) {}
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(name_, sizeof(mutants::Shared::name), "%s.%s", test.test_suite_name(), test.name());
  }

 private:
  char* const name_;
};

int run_tests(const std::string& filter) {
  GTEST_FLAG_SET(filter, filter);
  GTEST_FLAG_SET(fail_fast, true);
  return RUN_ALL_TESTS();
}

}  // namespace

int main(int count, char** texts) {
  testing::InitGoogleTest(&count, texts);
  if (!mutants::is_server()) return RUN_ALL_TESTS();
  static mutants::ForkServer server(run_tests);
  testing::UnitTest::GetInstance()->listeners().Append(new Namer(server.name()));
  server.serve();
}
