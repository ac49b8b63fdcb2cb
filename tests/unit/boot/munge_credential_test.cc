// With a munge and an unmunge of our own, which only look like MUNGE's: the bed of hosts has the real ones.
#include "control/boot/processes/munge_credential.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/agent_process.h"
#include "control/boot/startup/boot_key.h"

namespace openlapi::boot {
namespace {

class MungeCredential : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/munge-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    path_ = std::getenv("PATH");
    setenv("PATH", (folder_.string() + ":/usr/bin:/bin").c_str(), 1);
    write("munge", "printf 'MUNGE:%s:\\n' \"$(base64 -w 0)\"");
    write("unmunge", "sed 's/^MUNGE:\\(.*\\):$/\\1/' | base64 -d");
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }

  void write(const char* name, const std::string& command) const {
    std::ofstream(folder_ / name) << "#!/bin/sh\n" << command << "\n";
    chmod((folder_ / name).c_str(), 0755);
  }

  // What the reader of a key says of this on its standard input.
  static std::string refusal_of(const std::string& input) {
    const FileDescriptor reader = pipe_with(input);
    testing::internal::CaptureStderr();
    const int result = lam_ssi_boot_base_read_key(reader.get());
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(result, said.empty() ? 0 : LAMERROR);
    return said;
  }

  std::filesystem::path folder_{};
  std::string path_{};
};

std::string all_of(const FileDescriptor& reader) {
  std::string text(4096, 0);
  const ssize_t count = read(reader.get(), text.data(), text.size());
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  return text;
}

TEST_F(MungeCredential, AKeyIsReadFromOne) {
  const std::string key("0123456789abcdef0123456789\n\0abcd", 32);
  EXPECT_EQ(refusal_of(seal_by_munge(key) + "\n"), "");
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(key_of_boot().data()), key_of_boot().size()), key);
  EXPECT_EQ(refusal_of(seal_by_munge("another key of 32 bytes, and so.")), "");  // it ends with its input
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(key_of_boot().data()), 11), "another key");
}

TEST_F(MungeCredential, WhatALauncherIsGivenDoesNotShowTheKey) {
  const std::string key(reinterpret_cast<const char*>(boot_key().data()), boot_key().size());
  EXPECT_EQ(all_of(input_for("srun", AgentInput::kKey)), key);
  const std::string sealed = all_of(input_for("srun", AgentInput::kSealedKey));
  EXPECT_EQ(sealed, seal_by_munge(key) + "\n");
  EXPECT_EQ(sealed.find(key), std::string::npos);
}

TEST_F(MungeCredential, OnlyThisUserMayOpenIt) {
  write("munge", "echo \"MUNGE:$*:\"");
  EXPECT_EQ(seal_by_munge("x"), "MUNGE:--restrict-uid=" + std::to_string(geteuid()) + ":");
}

TEST_F(MungeCredential, WhyItCannotBeMadeIsSaid) {
  const auto why = [] {
    try {
      seal_by_munge("x");
      return std::string("sealed");
    } catch (const BootError& error) {
      return std::string(error.what());
    }
  };
  write("munge", "echo 'munge: Error: Failed to access \"/run/munge\"' >&2; exit 6");
  EXPECT_EQ(why(), "munge ended with status 6: munge: Error: Failed to access \"/run/munge\"");
  write("munge", "echo something");
  EXPECT_EQ(why(), "munge has not written a credential");
  std::filesystem::remove(folder_ / "munge");
  setenv("PATH", folder_.c_str(), 1);
  EXPECT_EQ(why(), "munge cannot be started: No such file or directory");
}

TEST_F(MungeCredential, WhatIsNoneOfAKeyIsRefused) {
  EXPECT_NE(refusal_of(seal_by_munge("a content of 23 bytes..") + "\n")
                .find("the credential with the key holds 23 bytes; allowed: 32"),
            std::string::npos);
  write("unmunge", "echo 'unmunge: Error: Replayed credential' >&2; exit 17");
  EXPECT_NE(refusal_of("MUNGE:" + std::string(60, 'A') + ":\n")
                .find("unmunge ended with status 17: unmunge: Error: Replayed credential"),
            std::string::npos);
}

}  // namespace
}  // namespace openlapi::boot
