#include "control/client/shared_secret.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "dataplane/base/file_descriptor.h"
#include "dataplane/base/random_number.h"

namespace openlapi {
namespace {

constexpr std::size_t kDigits = 32;
constexpr std::string_view kUnfinished = "secret.";  // and 16 digits: one that is being made
constexpr const char* kHowTo =
    "; make one by: umask 077; openssl rand -hex 16 >FILE, have it on every node of the job, and name it by "
    "OPENLAPI_SECRET_FILE (or set OPENLAPI_SECRET=partition where no stranger reaches the tasks: man 7 lapi)";

bool refuse(std::string& error, const std::string& what) {
  error = "the secret that tasks without a launcher share: " + what + kHowTo;
  return false;
}

bool refuse_errno(std::string& error, const std::string& what) { return refuse(error, what + ": " + strerror(errno)); }

std::string digits_of(std::uint64_t number) {
  std::array<char, kDigits / 2 + 1> digits;
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(number));
  return digits.data();
}

bool parse(std::string_view text, SipKey& secret) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != kDigits) return false;
  const char* const middle = text.data() + kDigits / 2;
  const char* const end = text.data() + kDigits;
  const auto high = std::from_chars(text.data(), middle, secret.high, 16);
  const auto low = std::from_chars(middle, end, secret.low, 16);
  return high.ptr == middle && low.ptr == end && high.ec == std::errc() && low.ec == std::errc();
}

std::string another_users(const std::string& path, uid_t owner) {
  return path + " belongs to user " + std::to_string(owner) + ", not to user " + std::to_string(geteuid()) +
         " who runs this task";
}

// Whether only this user can have written it, and can read it.
bool is_private(const struct stat& status, const std::string& path, std::string& error) {
  if (status.st_uid != geteuid()) return refuse(error, another_users(path, status.st_uid));
  if ((status.st_mode & 077) == 0) return true;
  std::array<char, 8> mode;
  std::snprintf(mode.data(), mode.size(), "%04o", static_cast<unsigned>(status.st_mode & 07777));
  const char* const right = S_ISDIR(status.st_mode) ? "0700 (chmod 0700)" : "0600 or 0400 (chmod 0600)";
  return refuse(error, path + " has mode " + mode.data() + " and must have " + right);
}

bool read_secret(const FileDescriptor& file, const std::string& path, SipKey& secret, std::string& error) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) return refuse_errno(error, path);
  if (!S_ISREG(status.st_mode)) return refuse(error, path + " is no plain file");
  if (!is_private(status, path, error)) return false;
  std::array<char, kDigits + 2> text;
  const ssize_t length = read(file.get(), text.data(), text.size());
  if (length < 0) return refuse_errno(error, path);
  return parse({text.data(), static_cast<std::size_t>(length)}, secret) ||
         refuse(error, path + " has not 32 hexadecimal digits and a newline in it");
}

// No link is followed at the end of a path, and nobody's pipe is waited for.
FileDescriptor open_secret(int folder, const char* name) {
  return FileDescriptor(openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

bool cannot_open(const std::string& path, std::string& error) {
  if (errno == ELOOP) return refuse(error, path + " is a symbolic link, which is not followed");
  return refuse_errno(error, path);
}

bool is_unfinished(std::string_view name) {
  return name.starts_with(kUnfinished) && name.size() == kUnfinished.size() + kDigits / 2 &&
         name.find_first_not_of("0123456789abcdef", kUnfinished.size()) == std::string_view::npos;
}

// What tasks that died in make_secret() left. The secret is there, so that a living one does without its file, too.
void remove_unfinished(int folder) {
  FileDescriptor opened(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* const names = fdopendir(opened.get());
  if (names == nullptr) return;
  opened.release();  // closedir() closes it
  while (const dirent* entry = readdir(names)) {
    if (is_unfinished(entry->d_name)) unlinkat(folder, entry->d_name, 0);
  }
  closedir(names);
}

// Written beside its place and put there in one step, so that nobody sees a part of it; whoever comes second finds the
// first one's.
bool make_secret(int folder, const std::string& path, std::string& error) {
  const std::string name = std::string(kUnfinished) + digits_of(random_number<std::uint64_t>());
  const std::string text = digits_of(random_number<std::uint64_t>()) + digits_of(random_number<std::uint64_t>()) + "\n";
  const FileDescriptor file(openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return refuse_errno(error, path + " cannot be made");
  const bool written =
      write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      fchmod(file.get(), 0600) == 0 && fsync(file.get()) == 0 &&
      (linkat(folder, name.c_str(), folder, kSecretName, 0) == 0 || errno == EEXIST || errno == ENOENT);
  const int reason = errno;
  unlinkat(folder, name.c_str(), 0);
  errno = reason;
  return written || refuse_errno(error, path + " cannot be made");
}

// A umask may have kept the folder's own user out of it, when this task or another one made it.
void open_to_its_owner(int above) {
  struct stat status {};
  const bool found = fstatat(above, kSecretFolder, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(status.st_mode);
  if (!found || status.st_uid != geteuid() || (status.st_mode & S_IRWXU) == S_IRWXU) return;
  // If that fails, opening it says why.
  static_cast<void>(fchmodat(above, kSecretFolder, (status.st_mode & 07777) | S_IRWXU, AT_SYMLINK_NOFOLLOW));
}

// Root with the HOME of a user, as sudo leaves it, would make what shuts that user out. A folder of root's, such as
// /tmp, is nobody's home but root's.
bool is_own_home(const FileDescriptor& home, const std::string& path, std::string& error) {
  struct stat status {};
  if (fstat(home.get(), &status) != 0) return refuse_errno(error, path);
  return status.st_uid == geteuid() || status.st_uid == 0 ||
         refuse(error, another_users(path, status.st_uid) + " and would shut the owner out with a file there: set " +
                           "HOME to a folder of the user who runs it (as sudo -H does)");
}

// Made if it is not there. A bad descriptor: `error` says why.
FileDescriptor open_secret_folder(const FileDescriptor& home, const std::string& path, std::string& error) {
  const bool is_there = mkdirat(home.get(), kSecretFolder, 0700) == 0 || errno == EEXIST;
  if (!is_there) {
    refuse_errno(error, path + " cannot be made");
    return {};
  }
  open_to_its_owner(home.get());
  FileDescriptor folder(openat(home.get(), kSecretFolder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.get() < 0 && errno == ENOTDIR) {
    refuse(error, path + " is no folder (a symbolic link is not followed)");
  } else if (folder.get() < 0) {
    cannot_open(path, error);
  }
  return folder;
}

bool read_home_secret(const char* home, SipKey& secret, std::string& error) {
  if (home == nullptr || *home == '\0') return refuse(error, "HOME is not set, where a file for it would be");
  const std::string path = std::string(home) + "/" + kSecretFolder;
  const FileDescriptor above(open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (above.get() < 0) return refuse_errno(error, "HOME=" + std::string(home));
  if (!is_own_home(above, "HOME=" + std::string(home), error)) return false;
  const FileDescriptor folder = open_secret_folder(above, path, error);
  if (folder.get() < 0) return false;
  struct stat status {};
  if (fstat(folder.get(), &status) != 0) return refuse_errno(error, path);
  if (!is_private(status, path, error)) return false;
  const std::string file_path = path + "/" + kSecretName;
  FileDescriptor file = open_secret(folder.get(), kSecretName);
  if (file.get() < 0 && errno == ENOENT) {
    if (!make_secret(folder.get(), file_path, error)) return false;
    file = open_secret(folder.get(), kSecretName);
  }
  if (file.get() < 0) return cannot_open(file_path, error);
  remove_unfinished(folder.get());
  return read_secret(file, file_path, secret, error);
}

}  // namespace

bool read_shared_secret(const std::string& file, const char* home, SipKey& secret, std::string& error) {
  if (file.empty()) return read_home_secret(home, secret, error);
  const std::string path = "OPENLAPI_SECRET_FILE=" + file;
  const FileDescriptor opened = open_secret(AT_FDCWD, file.c_str());
  if (opened.get() < 0) return cannot_open(path, error);
  return read_secret(opened, path, secret, error);
}

}  // namespace openlapi
