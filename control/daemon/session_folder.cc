#include "control/daemon/session_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <utility>

#include "control/daemon/system_failure.h"

namespace openlapi::daemon {
namespace {

constexpr char kKillFile[] = "/lam-killfile";
constexpr char kToolSocket[] = "/lam-kernel-socket";
constexpr char kLog[] = "/lam-log";
constexpr int kToolBacklog = 64;
constexpr int kMostTries = 100;  // a daemon that is ending may remove the folder between two steps

std::string environment_value(std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "";
}

// LAM's suffix inside a batch job, so that two jobs of a user on one machine do not meet.
std::string batch_suffix() {
  constexpr std::pair<const char*, const char*> kSystems[] = {
      {"PBS_JOBID", "pbs-"}, {"SLURM_JOB_ID", "slurm-"}, {"LSB_JOBID", "lsf-"}, {"JOB_ID", "sge-"}};
  for (const auto& [variable, name] : kSystems) {
    const std::string number = environment_value({variable});
    if (!number.empty()) return name + number;
  }
  return "";
}

std::string user_name() {
  const passwd* user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : std::to_string(geteuid());
}

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

sockaddr_un socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) {
    throw std::runtime_error("the path " + path + " is longer than a socket's may be (" +
                             std::to_string(sizeof address.sun_path - 1) +
                             "); LAM_MPI_SESSION_PREFIX and -sessionprefix name another place");
  }
  std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
  return address;
}

// Nobody else may have made it, or may look into it.
void check_owner(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) fail("the session folder " + path);
  if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) {
    throw std::runtime_error("the session folder " + path +
                             " is not a folder of this user alone (mode 0700); remove it" +
                             " or choose another with -sessionsuffix");
  }
}

// Nothing: the folder was removed meanwhile.
FileDescriptor open_kill_file(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("the session folder " + path + " cannot be made");
  check_owner(path);
  FileDescriptor file(open((path + kKillFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open() && errno != ENOENT) fail(path + kKillFile);
  return file;
}

bool is_locked(int file) { return flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK; }

pid_t read_process_number(int file) {
  char text[32] = "";
  const ssize_t count = pread(file, text, sizeof text - 1, 0);
  return count > 0 ? static_cast<pid_t>(std::strtol(text, nullptr, 10)) : 0;
}

void remove_files(const std::string& path) {
  for (const char* name : {kToolSocket, kLog, kKillFile}) unlink((path + name).c_str());
  rmdir(path.c_str());
}

}  // namespace

std::string session_path(const SessionName& name) {
  std::string path = name.prefix.empty() ? environment_value({"LAM_MPI_SESSION_PREFIX", "TMPDIR"}) : name.prefix;
  if (path.empty()) path = "/tmp";
  path = std::filesystem::absolute(path).string();
  std::string suffix =
      name.suffix.empty() ? environment_value({"LAM_MPI_SESSION_SUFFIX", "LAM_MPI_SOCKET_SUFFIX"}) : name.suffix;
  if (suffix.empty()) suffix = batch_suffix();
  path += "/lam-" + user_name() + "@" + host_name();
  if (!suffix.empty()) path += "-" + suffix;
  if (!name.member.empty()) path += "-" + name.member;
  socket_address(path + kToolSocket);
  return path;
}

SessionFolder::SessionFolder(std::string path) : path_(std::move(path)) {
  for (int tries = 0; tries < kMostTries; ++tries) {
    kill_file_ = open_kill_file(path_);
    if (!kill_file_.is_open()) continue;
    if (is_locked(kill_file_.get())) {
      const pid_t process = read_process_number(kill_file_.get());
      const std::string folder = std::exchange(path_, "");
      throw std::runtime_error("a universe is running here already (process " + std::to_string(process) + " in " +
                               folder + "); end it with lamhalt, or with tkill when that does not help");
    }
    struct stat status {};
    if (fstat(kill_file_.get(), &status) == 0 && status.st_nlink > 0) return;
  }
  throw std::runtime_error("the session folder " + std::exchange(path_, "") + " is made and removed all the time");
}

void SessionFolder::write_process_number(pid_t process) {
  const std::string text = std::to_string(process) + "\n";
  if (ftruncate(kill_file_.get(), 0) != 0 ||
      pwrite(kill_file_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    fail(path_ + kKillFile);
  }
}

FileDescriptor SessionFolder::listen_to_tools() {
  const std::string path = tool_socket(path_);
  const sockaddr_un address = socket_address(path);
  unlink(path.c_str());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t before = umask(0177);
  const bool bound = bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  umask(before);
  if (!bound || listen(socket.get(), kToolBacklog) != 0) fail(path);
  return socket;
}

FileDescriptor SessionFolder::open_log() {
  FileDescriptor log(
      open((path_ + kLog).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!log.is_open()) fail(path_ + kLog);
  return log;
}

void SessionFolder::remove() {
  if (!path_.empty()) remove_files(path_);
  path_.clear();
  kill_file_.reset();
}

std::string tool_socket(const std::string& folder) { return folder + kToolSocket; }

pid_t session_process(const std::string& folder) {
  const FileDescriptor file(open((folder + kKillFile).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || !is_locked(file.get())) return 0;
  return read_process_number(file.get());
}

void remove_session(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 && errno == ENOENT) return;
  SessionFolder(folder).remove();
}

}  // namespace openlapi::daemon
