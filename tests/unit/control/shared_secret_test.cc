// The file that keeps strangers out of jobs without a launcher: who makes it, and what is not taken for it.
#include "control/client/shared_secret.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/control/temporary_folder.h"

namespace openlapi::test {
namespace {

constexpr const char* kDigits = "0123456789abcdef0011223344556677";

std::string refusal(const std::string& file, const char* home = nullptr) {
  SipKey secret;
  std::string error;
  EXPECT_FALSE(read_shared_secret(file, home, secret, error));
  return error;
}

void expect_refused(const std::string& file, const std::string& why) {
  const std::string error = refusal(file);
  EXPECT_NE(error.find("OPENLAPI_SECRET_FILE=" + file), std::string::npos) << error;
  EXPECT_NE(error.find(why), std::string::npos) << error;
  EXPECT_NE(error.find("umask 077"), std::string::npos) << error;
}

SipKey made_in(const std::string& home) {
  SipKey secret;
  std::string error;
  EXPECT_TRUE(read_shared_secret("", home.c_str(), secret, error)) << error;
  return secret;
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

// Runs a case as another user; what it expects in vain, and why, is told by the exit status.
void as_stranger(const auto& body) {
  const pid_t child = fork();
  if (child == 0) {
    if (setresuid(65534, 65534, 65534) != 0) _exit(2);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(SharedSecret, IsTheNumberInTheFile) {
  const TemporaryFolder folder;
  for (const char* end : {"\n", ""}) {
    folder.write("secret", std::string(kDigits) + end);
    SipKey secret;
    std::string error;
    ASSERT_TRUE(read_shared_secret(folder.path("secret"), nullptr, secret, error)) << error;
    EXPECT_EQ(secret.high, 0x0123456789abcdefu);
    EXPECT_EQ(secret.low, 0x0011223344556677u);
  }
}

TEST(SharedSecret, IsMadeOnceInTheHomeFolder) {
  const TemporaryFolder home;
  const SipKey first = made_in(home.path());
  const SipKey second = made_in(home.path());
  EXPECT_TRUE(first.low == second.low && first.high == second.high);
  EXPECT_NE(first.low, first.high);
  EXPECT_EQ(mode_of(home.path(".openlapi")), 0700u);
  EXPECT_EQ(mode_of(home.path(".openlapi/secret")), 0600u);
  const TemporaryFolder other;
  EXPECT_NE(made_in(other.path()).low, first.low);
}

// umask takes rights away that the file must have all the same.
TEST(SharedSecret, HasItsModeWhateverTheUmask) {
  const TemporaryFolder home;
  const mode_t before = umask(0477);
  SipKey secret;
  std::string error;
  std::filesystem::create_directory(home.path(".openlapi"));
  chmod(home.path(".openlapi").c_str(), 0700);
  const bool made = read_shared_secret("", home.path().c_str(), secret, error);
  umask(before);
  EXPECT_TRUE(made) << error;
  EXPECT_EQ(mode_of(home.path(".openlapi/secret")), 0600u);
}

// Sixteen processes that come at the same moment, a hundred times: one file, one secret, nothing left beside it.
TEST(SharedSecret, IsTheSameForAllWhoComeAtTheSameMoment) {
  constexpr int kTasks = 16;
  for (int round = 0; round < 100; ++round) {
    const TemporaryFolder home;
    std::array<int, 2> gate{}, answers{};
    ASSERT_EQ(pipe(gate.data()), 0);
    ASSERT_EQ(pipe(answers.data()), 0);
    std::vector<pid_t> tasks;
    for (int task = 0; task < kTasks; ++task) {
      tasks.push_back(fork());
      if (tasks.back() != 0) continue;
      close(gate[1]);
      char none;
      if (read(gate[0], &none, 1) != 0) _exit(1);  // until the gate is closed by all
      const SipKey secret = made_in(home.path());
      _exit(write(answers[1], &secret, sizeof(secret)) == sizeof(secret) ? 0 : 1);
    }
    close(gate[0]);
    close(gate[1]);
    close(answers[1]);
    std::set<std::pair<std::uint64_t, std::uint64_t>> secrets;
    int count = 0;
    for (SipKey secret; read(answers[0], &secret, sizeof(secret)) == sizeof(secret); ++count) {
      secrets.insert({secret.low, secret.high});
    }
    close(answers[0]);
    for (const pid_t task : tasks) waitpid(task, nullptr, 0);
    ASSERT_EQ(count, kTasks);
    ASSERT_EQ(secrets.size(), 1u);
    const std::filesystem::directory_iterator files(home.path(".openlapi"));
    ASSERT_EQ(std::distance(begin(files), end(files)), 1) << "something was left beside the secret";
  }
}

// A task that dies while it makes the secret leaves a file beside it, or a second name of the secret itself.
TEST(SharedSecret, IsRidOfWhatADeadTaskLeft) {
  const TemporaryFolder home;
  std::filesystem::create_directory(home.path(".openlapi"));
  chmod(home.path(".openlapi").c_str(), 0700);
  for (const char* name : {"secret.0123456789abcdef", "secret.0123456789abcdeg", "secret.old"}) {
    home.write(std::string(".openlapi/") + name, kDigits);
  }
  const SipKey made = made_in(home.path());
  EXPECT_NE(made.low, 0x0011223344556677u);
  EXPECT_FALSE(std::filesystem::exists(home.path(".openlapi/secret.0123456789abcdef")));
  EXPECT_TRUE(std::filesystem::exists(home.path(".openlapi/secret.0123456789abcdeg")));
  EXPECT_TRUE(std::filesystem::exists(home.path(".openlapi/secret.old")));
  std::filesystem::create_hard_link(home.path(".openlapi/secret"), home.path(".openlapi/secret.fedcba9876543210"));
  EXPECT_EQ(made_in(home.path()).low, made.low);
  EXPECT_FALSE(std::filesystem::exists(home.path(".openlapi/secret.fedcba9876543210")));
}

TEST(SharedSecret, MayBeReadOnly) {
  const TemporaryFolder folder;
  folder.write("secret", kDigits, 0400);
  SipKey secret;
  std::string error;
  EXPECT_TRUE(read_shared_secret(folder.path("secret"), nullptr, secret, error)) << error;
}

TEST(SharedSecret, RefusesWhatOthersMayReadOrWrite) {
  const TemporaryFolder folder;
  for (const mode_t mode : {0640u, 0604u, 0660u, 0602u, 0610u}) {
    folder.write("secret", kDigits, mode);
    expect_refused(folder.path("secret"), "must have 0600 or 0400 (chmod 0600)");
  }
  const TemporaryFolder home;
  made_in(home.path());
  chmod(home.path(".openlapi/secret").c_str(), 0644);
  EXPECT_NE(refusal("", home.path().c_str()).find("has mode 0644 and must have 0600"), std::string::npos);
  chmod(home.path(".openlapi/secret").c_str(), 0600);
  chmod(home.path(".openlapi").c_str(), 0777);
  EXPECT_NE(refusal("", home.path().c_str()).find("has mode 0777 and must have 0700"), std::string::npos);
}

TEST(SharedSecret, RefusesWhatIsNoSecret) {
  const TemporaryFolder folder;
  for (const std::string& text :
       {std::string(), std::string("\n"), std::string(kDigits).substr(1), std::string(kDigits) + "8",
        std::string(kDigits) + "\n\n", "g" + std::string(kDigits).substr(1), "-" + std::string(kDigits).substr(1),
        std::string(kDigits).substr(1) + " "}) {
    folder.write("secret", text);
    expect_refused(folder.path("secret"), "32 hexadecimal digits");
  }
  expect_refused(folder.path("nothing"), "No such file");
  expect_refused(folder.path(), "no plain file");
  ASSERT_EQ(mkfifo(folder.path("pipe").c_str(), 0600), 0);
  expect_refused(folder.path("pipe"), "no plain file");
}

TEST(SharedSecret, FollowsNoLink) {
  const TemporaryFolder folder;
  folder.write("real", kDigits);
  std::filesystem::create_symlink(folder.path("real"), folder.path("link"));
  expect_refused(folder.path("link"), "symbolic link");
  const TemporaryFolder home;
  std::filesystem::create_directory(home.path(".openlapi"));
  chmod(home.path(".openlapi").c_str(), 0700);
  std::filesystem::create_symlink(folder.path("real"), home.path(".openlapi/secret"));
  EXPECT_NE(refusal("", home.path().c_str()).find("symbolic link"), std::string::npos);
  const TemporaryFolder elsewhere;
  std::filesystem::create_symlink(home.path(".openlapi"), elsewhere.path(".openlapi"));
  EXPECT_NE(refusal("", elsewhere.path().c_str()).find("symbolic link"), std::string::npos);
  std::filesystem::create_symlink(elsewhere.path("not there"), elsewhere.path("dangling"));
  expect_refused(elsewhere.path("dangling"), "symbolic link");
}

TEST(SharedSecret, SaysThatThereIsNoHome) {
  for (const char* home : {static_cast<const char*>(nullptr), ""}) {
    const std::string error = refusal("", home);
    EXPECT_NE(error.find("HOME is not set"), std::string::npos) << error;
    EXPECT_NE(error.find("OPENLAPI_SECRET_FILE"), std::string::npos) << error;
    EXPECT_NE(error.find("OPENLAPI_SECRET=partition"), std::string::npos) << error;
  }
  EXPECT_NE(refusal("", "/not/there").find("HOME=/not/there: No such file"), std::string::npos);
}

class AnotherUser : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
};

TEST_F(AnotherUser, ReadsNobodyElsesSecret) {
  const TemporaryFolder home;
  made_in(home.path());
  chmod(home.path().c_str(), 0755);
  as_stranger([&] {
    EXPECT_NE(refusal("", home.path().c_str()).find("Permission denied"), std::string::npos);
    expect_refused(home.path(".openlapi/secret"), "Permission denied");
  });
}

TEST_F(AnotherUser, CannotMakeOneInAFolderThatIsNotItsOwn) {
  const TemporaryFolder home;
  chmod(home.path().c_str(), 0755);
  as_stranger([&] { EXPECT_NE(refusal("", home.path().c_str()).find("cannot be made"), std::string::npos); });
}

// In a home that everybody may write, somebody else was first.
TEST_F(AnotherUser, HasMadeTheFolderOrTheFile) {
  const TemporaryFolder home;
  chmod(home.path().c_str(), 0777);
  as_stranger([&] { made_in(home.path()); });
  EXPECT_NE(refusal("", home.path().c_str()).find("belongs to user 65534, not to user 0"), std::string::npos);
  expect_refused(home.path(".openlapi/secret"), "belongs to user 65534, not to user 0");
}

// As root has after sudo without -H: what root makes there would shut the user out.
TEST_F(AnotherUser, HasThisHome) {
  const TemporaryFolder home;
  ASSERT_EQ(chown(home.path().c_str(), 65534, 65534), 0);
  const std::string error = refusal("", home.path().c_str());
  EXPECT_NE(error.find("HOME=" + home.path() + " belongs to user 65534, not to user 0"), std::string::npos) << error;
  EXPECT_NE(error.find("sudo -H"), std::string::npos) << error;
  EXPECT_FALSE(std::filesystem::exists(home.path(".openlapi")));
  as_stranger([&] { made_in(home.path()); });
}

// Which root does not feel.
TEST_F(AnotherUser, MakesOneUnderAnyUmask) {
  for (const mode_t mask : {0177u, 0277u, 0377u, 0777u}) {
    const TemporaryFolder home;
    ASSERT_EQ(chown(home.path().c_str(), 65534, 65534), 0);
    as_stranger([&] {
      umask(mask);
      const SipKey first = made_in(home.path());
      EXPECT_EQ(mode_of(home.path(".openlapi")), 0700u) << mask;
      umask(022);
      EXPECT_EQ(made_in(home.path()).high, first.high) << mask;
    });
  }
}

TEST_F(AnotherUser, HasASecretOfItsOwn) {
  const TemporaryFolder home;
  ASSERT_EQ(chown(home.path().c_str(), 65534, 65534), 0);
  as_stranger([&] {
    const SipKey first = made_in(home.path());
    const SipKey second = made_in(home.path());
    EXPECT_TRUE(first.low == second.low && first.high == second.high);
  });
}

}  // namespace
}  // namespace openlapi::test
