// The standalone environment of the guide's chapter 16: what is read from it, and what wrong values are told.
#define LAPI_SIZE_LIMITS 1
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "api/include/lapi.h"
#include "control/client/bootstrap.h"
#include "tests/unit/control/temporary_folder.h"

namespace openlapi {
namespace {

using Environment = std::map<std::string, std::string>;

struct Opened {
  std::shared_ptr<Bootstrap> bootstrap;
  std::string error;
  bool missing = false;
};

Opened open(const Environment& environment, const std::optional<SecretPlace>& secret = std::nullopt) {
  Opened opened;
  const auto read = [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  };
  opened.bootstrap = open_standalone_bootstrap(read, secret, opened.error, opened.missing);
  return opened;
}

Environment task_1_of_4() { return {{"MP_PROCS", "4"}, {"MP_CHILD", "1"}, {"MP_PARTITION", "77"}}; }

Environment with(const std::string& name, const std::string& value) {
  Environment environment = task_1_of_4();
  environment[name] = value;
  return environment;
}

void expect_refused(const std::string& name, const std::string& value) {
  const Opened opened = open(with(name, value));
  EXPECT_EQ(opened.bootstrap, nullptr) << name << "=" << value;
  EXPECT_FALSE(opened.missing);
  EXPECT_NE(opened.error.find(name + "='" + value + "'"), std::string::npos) << opened.error;
}

TEST(StandaloneBootstrap, KnowsItsPlaceInTheJob) {
  const Opened opened = open(task_1_of_4());
  ASSERT_NE(opened.bootstrap, nullptr) << opened.error;
  EXPECT_EQ(opened.bootstrap->name(), "standalone");
  EXPECT_EQ(opened.bootstrap->task(), 1U);
  EXPECT_EQ(opened.bootstrap->size(), 4U);
}

TEST(StandaloneBootstrap, EndsWithoutSayingAgainWhy) {
  EXPECT_EXIT(open(task_1_of_4()).bootstrap->abort(3, "said by the caller"), testing::ExitedWithCode(3), "^$");
}

TEST(StandaloneBootstrap, KnowsOnlyItselfWithoutCommonTasks) {
  EXPECT_EQ(open(task_1_of_4()).bootstrap->local_tasks(), std::vector<std::uint32_t>{1});
}

TEST(StandaloneBootstrap, ReadsTheGuidesExampleOfCommonTasks) {
  const Opened opened = open(with("MP_COMMON_TASKS", "3:0:2:3"));
  ASSERT_NE(opened.bootstrap, nullptr) << opened.error;
  EXPECT_EQ(opened.bootstrap->local_tasks(), (std::vector<std::uint32_t>{0, 1, 2, 3}));
}

TEST(StandaloneBootstrap, SortsCommonTasks) {
  EXPECT_EQ(open(with("MP_COMMON_TASKS", "2:3:0")).bootstrap->local_tasks(), (std::vector<std::uint32_t>{0, 1, 3}));
}

TEST(StandaloneBootstrap, TakesZeroForATaskAlone) {
  EXPECT_EQ(open(with("MP_COMMON_TASKS", "0")).bootstrap->local_tasks(), std::vector<std::uint32_t>{1});
}

TEST(StandaloneBootstrap, RefusesWrongCommonTasks) {
  for (const char* value : {"", ":", "x", "1", "0:2", "2:0", "1:0:2", "1:1", "2:0:0", "1:4", "1:-1",
                            "3:0:2:3:", "3:0 :2:3", " 1:0", "1:0x2", "1;0", "3:0::3", "99999999999:0"})
    expect_refused("MP_COMMON_TASKS", value);
}

TEST(StandaloneBootstrap, SaysWhatCommonTasksAreAllowed) {
  EXPECT_NE(open(with("MP_COMMON_TASKS", "1:1")).error.find("this task is 1 of 4"), std::string::npos);
}

TEST(StandaloneBootstrap, RefusesWrongNumbers) {
  for (const char* value : {"", "0", "-4", "4x", " 4", "4.0", "16385", "99999999999999999999"})
    expect_refused("MP_PROCS", value);
  for (const char* value : {"", "-1", "4", "1 ", "+1", "0x1"}) expect_refused("MP_CHILD", value);
  expect_refused("MP_PARTITION", "");
}

TEST(StandaloneBootstrap, NamesTheRange) {
  EXPECT_NE(open(with("MP_CHILD", "4")).error.find("0 to 3"), std::string::npos);
  EXPECT_NE(open(with("MP_PROCS", "0")).error.find("1 to " + std::to_string(MAX_TASKS)), std::string::npos);
}

TEST(StandaloneBootstrap, TellsMissingVariablesFromWrongOnes) {
  for (const char* name : {"MP_PROCS", "MP_CHILD", "MP_PARTITION"}) {
    Environment environment = task_1_of_4();
    environment.erase(name);
    const Opened opened = open(environment);
    EXPECT_EQ(opened.bootstrap, nullptr);
    EXPECT_TRUE(opened.missing);
    EXPECT_NE(opened.error.find(std::string(name) + " is not set"), std::string::npos) << opened.error;
  }
}

TEST(StandaloneBootstrap, DerivesTheCookieFromThePartitionAlone) {
  std::set<std::uint64_t> cookies;
  for (const char* partition : {"1", "2", "01", "12", "21", "any words", "4294967297"}) {
    Environment environment = with("MP_PARTITION", partition);
    const std::uint64_t cookie = open(environment).bootstrap->job_cookie();
    environment["MP_CHILD"] = std::string("3");
    EXPECT_EQ(open(environment).bootstrap->job_cookie(), cookie);
    cookies.insert(cookie);
  }
  EXPECT_EQ(cookies.size(), 7U);
}

TEST(StandaloneBootstrap, ChangesAboutHalfOfTheCookieForOneDigit) {
  const auto cookie = [](const char* partition) {
    return open(with("MP_PARTITION", partition)).bootstrap->job_cookie();
  };
  const int changed = __builtin_popcountll(cookie("1") ^ cookie("2"));
  EXPECT_GT(changed, 16);
  EXPECT_LT(changed, 48);
}

// Who knows all that the job's environment says, but has another secret, has another cookie.
TEST(StandaloneBootstrap, MixesTheSecretIntoTheCookie) {
  const test::TemporaryFolder folder;
  folder.write("one", "00112233445566778899aabbccddeeff\n");
  folder.write("other", "00112233445566778899aabbccddeefe\n");
  const SecretPlace one{folder.path("one")}, other{folder.path("other")};
  const std::uint64_t cookie = open(task_1_of_4(), one).bootstrap->job_cookie();
  EXPECT_EQ(open(with("MP_CHILD", "2"), one).bootstrap->job_cookie(), cookie);
  EXPECT_NE(open(task_1_of_4(), other).bootstrap->job_cookie(), cookie);
  EXPECT_NE(open(task_1_of_4()).bootstrap->job_cookie(), cookie);
  EXPECT_NE(open(with("MP_PARTITION", "78"), one).bootstrap->job_cookie(), cookie);
}

TEST(StandaloneBootstrap, TakesTheSecretOfTheHomeFolderThatTheEnvironmentNames) {
  const test::TemporaryFolder home;
  const std::uint64_t cookie = open(with("HOME", home.path()), SecretPlace{}).bootstrap->job_cookie();
  EXPECT_EQ(open(with("HOME", home.path()), SecretPlace{home.path(".openlapi/secret")}).bootstrap->job_cookie(),
            cookie);
  const Opened homeless = open(task_1_of_4(), SecretPlace{});
  EXPECT_EQ(homeless.bootstrap, nullptr);
  EXPECT_FALSE(homeless.missing);
  EXPECT_NE(homeless.error.find("HOME is not set"), std::string::npos) << homeless.error;
}

// A wrong environment is told first, and leaves no file behind.
TEST(StandaloneBootstrap, MakesNoSecretForATaskThatDoesNotKnowItsPlace) {
  const test::TemporaryFolder home;
  Environment environment = with("MP_CHILD", "4");
  environment["HOME"] = home.path();
  EXPECT_NE(open(environment, SecretPlace{}).error.find("MP_CHILD"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(home.path(".openlapi")));
}

TEST(StandaloneBootstrap, MovesNothing) {
  const Opened opened = open(task_1_of_4());
  EXPECT_FALSE(opened.bootstrap->can_exchange());
  std::string error;
  std::vector<std::byte> value;
  EXPECT_FALSE(opened.bootstrap->put("key", value, error));
  EXPECT_FALSE(error.empty());
  EXPECT_FALSE(opened.bootstrap->exchange(error));
  EXPECT_FALSE(opened.bootstrap->barrier(error));
  EXPECT_FALSE(opened.bootstrap->get(0, "key", 1, value, error));
}

}  // namespace
}  // namespace openlapi
