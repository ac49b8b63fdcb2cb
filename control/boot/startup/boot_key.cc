// The key, and how it comes from one process to the next. Apart from the protocol that it is for: hboot, which only
// hands it on, shall not have to load libcrypto on every host.
#include "control/boot/startup/boot_key.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/munge_credential.h"
#include "dataplane/base/random_number.h"

namespace openlapi::boot {
namespace {

std::optional<StartupKey> key;

// A file with the key is its owner's alone.
void check_private(int fd) {
  struct stat status {};
  if (fstat(fd, &status) != 0) throw BootError(std::string("the key cannot be read: ") + std::strerror(errno));
  if (S_ISREG(status.st_mode) && (status.st_uid != geteuid() || (status.st_mode & 077) != 0)) {
    throw BootError("the file with the key is readable by others, or not this user's; allowed: mode 0600, own");
  }
}

// What stands behind it in its line, or to the end.
std::string rest_of_line(int fd) {
  constexpr std::size_t kLongest = 4096;
  std::string line;
  char letter = 0;
  while (line.size() < kLongest) {
    const ssize_t count = read(fd, &letter, 1);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0 || letter == '\n') break;
    line += letter;
  }
  return line;
}

// What looks like it is no random key but once in 2^48.
bool is_credential(const StartupKey& bytes) {
  return std::memcmp(bytes.data(), kCredentialBegin.data(), kCredentialBegin.size()) == 0;
}

StartupKey key_in_credential(const StartupKey& begin, int fd) {
  const std::string credential(reinterpret_cast<const char*>(begin.data()), begin.size());
  const std::string content = [&] {
    try {
      return open_by_munge(credential + rest_of_line(fd) + "\n");
    } catch (const BootError& error) {
      throw BootError(std::string("the key is sealed by MUNGE (not with LAM_MPI_SSI_boot_slurm_munge=0): ") +
                      error.what());
    }
  }();
  StartupKey bytes{};
  if (content.size() != bytes.size()) {
    throw BootError("the credential with the key holds " + std::to_string(content.size()) + " bytes; allowed: 32");
  }
  std::memcpy(bytes.data(), content.data(), bytes.size());
  return bytes;
}

StartupKey read_key(int fd) {
  StartupKey bytes{};
  std::size_t have = 0;
  while (have < bytes.size()) {
    const ssize_t count = read(fd, bytes.data() + have, bytes.size() - have);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      throw BootError("the key has " + std::to_string(have) + " bytes; allowed: 32" +
                      (have > 0 ? "" : ". A remote shell's agent must let it pass: ssh -n does not"));
    }
    have += static_cast<std::size_t>(count);
  }
  return is_credential(bytes) ? key_in_credential(bytes, fd) : bytes;
}

}  // namespace

const StartupKey& boot_key() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (!key) fill_randomly(key.emplace());
  return *key;
}

const StartupKey& key_of_boot() {
  if (!key)
    throw BootError("the startup protocol has no key: the booting agent passes it on standard input or in a file");
  return *key;
}

}  // namespace openlapi::boot

using namespace openlapi::boot;

int lam_ssi_boot_base_write_key(int fd) {
  return catch_errors(LAMERROR, [&] {
    const StartupKey& bytes = boot_key();
    if (write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
      throw BootError(std::string("the key cannot be written: ") + std::strerror(errno));
    }
    return 0;
  });
}

int lam_ssi_boot_base_read_key(int fd) {
  return catch_errors(LAMERROR, [&] {
    check_private(fd);
    key = read_key(fd);
    return 0;
  });
}
