// Transports are opened without LAPI: nothing of the context or of the calls is linked here.
#include "api/wiring/open_transports.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace openlapi {
namespace {

std::vector<std::string> notices;

void keep_notice(Notice, int, const std::string& text) { notices.push_back(text); }

// A job of one task that no launcher starts.
class OpenTransportsAlone : public testing::Test {
 protected:
  void SetUp() override {
    notices.clear();
    for (const auto& [name, value] : {std::pair{"MP_MSG_API", "lapi"},
                                      {"MP_PROCS", "1"},
                                      {"MP_CHILD", "0"},
                                      {"MP_PARTITION", "4711"},
                                      {"OPENLAPI_SECRET", "partition"},
                                      {"MP_LAPI_INET_ADDR", "@1:127.0.0.1,lo"}}) {
      ASSERT_EQ(setenv(name, value, 1), 0);
    }
  }

  bool open(const char* shared_memory) {
    const std::scoped_lock turn(opening_turn());
    setenv("LAPI_USE_SHM", shared_memory, 1);
    Settings settings;
    SettingError wrong;
    EXPECT_TRUE(read_settings([](const char* name) -> const char* { return std::getenv(name); }, settings, wrong));
    JoinedJob& job = job_of_process();
    if (!join_job(settings, job, failure_)) return false;
    const TransportsRequest request{
        .job = job, .instance = 1, .how_to_give_addresses = "ask somebody", .tell = keep_notice};
    return open_transports(request, settings, opened_, failure_);
  }

  OpenTransports opened_;
  OpenFailure failure_;
};

TEST_F(OpenTransportsAlone, ShareMemory) {
  ASSERT_TRUE(open("only")) << failure_.text;
  ASSERT_EQ(opened_.transports.size(), 1u);
  EXPECT_EQ(opened_.transports.front()->name(), "shm");
  EXPECT_EQ(opened_.shm_numbers, std::vector<int>{0});
  EXPECT_EQ(opened_.network, "");
  EXPECT_EQ(opened_.bootstrap->size(), 1u);
  EXPECT_NE(opened_.epoch, 0u);
}

TEST_F(OpenTransportsAlone, FailInTheWordsOfTheFaceWhereNothingSaysWhereTheTasksAre) {
  EXPECT_FALSE(open("no"));
  EXPECT_EQ(failure_.kind, FailureKind::no_addresses);
  EXPECT_NE(failure_.text.find("ask somebody, or LAPI_USE_SHM=only"), std::string::npos) << failure_.text;
}

TEST_F(OpenTransportsAlone, TellTheFaceThatNobodySharesTheNode) {
  EXPECT_FALSE(open("yes"));  // it needs a network
  EXPECT_EQ(notices, std::vector<std::string>{"task 0 is alone on its node"});
}

}  // namespace
}  // namespace openlapi
