#include "control/daemon/session/session_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

#include "control/base/host_name.h"
#include "control/base/process_handle.h"
#include "control/base/session_suffix.h"
#include "control/daemon/session/system_failure.h"

namespace openlapi::daemon {
namespace {

constexpr char kKillFile[] = "/lam-killfile";
constexpr char kToolSocket[] = "/lam-kernel-socket";
constexpr char kLog[] = "/lam-log";
constexpr char kAdapters[] = "/lam-adapters";
constexpr char kUniverse[] = "/lam-universe";
constexpr std::string_view kLeft = "-left";  // behind the word: the daemon goes on without its universe
constexpr int kToolBacklog = 64;
constexpr int kMostTries = 100;  // a daemon that is ending may remove the folder between two steps
// Whoever has just taken a folder may not have said yet whose it is.
constexpr std::chrono::seconds kNamingTime{1};
constexpr std::chrono::milliseconds kNamingPause{5};

std::string user_name() {
  const passwd* user = getpwuid(geteuid());
  return user != nullptr ? user->pw_name : std::to_string(geteuid());
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
bool is_private(const struct stat& status) {
  return S_ISDIR(status.st_mode) && status.st_uid == geteuid() && (status.st_mode & 077) == 0;
}

// Of the folder itself, whatever takes its name meanwhile. Not open: there is none, or strangers can use it.
FileDescriptor open_own_folder(const std::string& path) {
  FileDescriptor folder(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  struct stat status {};
  if (folder.is_open() && (fstat(folder.get(), &status) != 0 || !is_private(status))) folder.reset();
  return folder;
}

FileDescriptor open_file_in(const FileDescriptor& folder, const char* name, int flags) {
  const std::string path = std::string(".") + name;
  return FileDescriptor(openat(folder.get(), path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600));
}

// What strangers put there is not even opened: it may stop who reads it, or lie.
FileDescriptor open_own_file(const std::string& path, const char* name, int flags) {
  const FileDescriptor folder = open_own_folder(path);
  return folder.is_open() ? open_file_in(folder, name, flags) : FileDescriptor();
}

// Nothing: the folder was removed meanwhile.
FileDescriptor open_kill_file(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) fail("the session folder " + path + " cannot be made");
  const FileDescriptor folder = open_own_folder(path);
  if (!folder.is_open()) {
    check_own_session(path);
    return {};
  }
  FileDescriptor file = open_file_in(folder, kKillFile, O_RDWR | O_CREAT);
  if (!file.is_open() && errno != ENOENT) fail(path + kKillFile);
  return file;
}

// Of the open file, which a daemon has in common with the process that it was forked by.
struct flock whole_file() {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  return lock;
}

bool lock(int file) {
  struct flock wanted = whole_file();
  return fcntl(file, F_OFD_SETLK, &wanted) == 0;
}

// Only looks: that keeps no daemon from taking the folder, and nobody from removing it.
bool is_locked(int file) {
  struct flock found = whole_file();
  return fcntl(file, F_OFD_GETLK, &found) == 0 && found.l_type != F_UNLCK;
}

pid_t read_process_number(int file) {
  char text[32] = "";
  const ssize_t count = pread(file, text, sizeof text - 1, 0);
  return count > 0 ? static_cast<pid_t>(std::strtol(text, nullptr, 10)) : 0;
}

SessionOwner owner_of(const std::string& path) {
  const FileDescriptor file = open_own_file(path, kUniverse, O_RDONLY);
  char text[256] = "";
  SessionOwner owner;
  if (file.is_open() && pread(file.get(), text, sizeof text - 1, 0) > 0) {
    std::istringstream(text) >> owner.universe >> owner.node;
  }
  return owner;
}

std::string described(pid_t process, const std::string& folder) {
  return (process > 0 ? "process " + std::to_string(process) + " in " : "its daemon has just taken ") + folder;
}

bool is_held(const std::string& path) {
  const FileDescriptor file = open_own_file(path, kKillFile, O_RDWR);
  return file.is_open() && is_locked(file.get());
}

void remove_files(const std::string& path) {
  for (const char* name : {kToolSocket, kLog, kAdapters, kUniverse, kKillFile}) unlink((path + name).c_str());
  rmdir(path.c_str());
}

}  // namespace

std::string session_path(const SessionName& name) {
  std::string path = name.prefix.empty() ? environment_value({"LAM_MPI_SESSION_PREFIX", "TMPDIR"}) : name.prefix;
  if (path.empty()) path = "/tmp";
  path = std::filesystem::absolute(path).string();
  const std::string of_environment = name.of_batch_job ? suffix_of_environment() : suffix_of_variables();
  const std::string suffix = name.suffix.empty() ? of_environment : name.suffix;
  const std::string mistake = suffix_mistake(suffix);
  if (!mistake.empty()) throw std::runtime_error(mistake);
  path += "/lam-" + user_name() + "@" + host_name();
  if (!suffix.empty()) path += "-" + suffix;
  if (!name.member.empty()) path += "-" + name.member;
  socket_address(path + kToolSocket);
  return path;
}

SessionFolder::SessionFolder(std::string path, std::string spare, const SessionOwner& owner) : path_(std::move(path)) {
  const auto until = std::chrono::steady_clock::now() + kNamingTime;
  while (!take()) {
    if (!spare.empty() && owner_of(path_).universe == owner.universe) {
      path_ = std::exchange(spare, "");
    } else if (spare.empty() || std::chrono::steady_clock::now() >= until) {
      const pid_t process = read_process_number(kill_file_.get());
      const std::string folder = std::exchange(path_, "");
      throw SessionTaken("a universe is running here already (" + described(process, folder) +
                         "); end it with lamhalt, or with tkill when that does not help");
    } else {
      std::this_thread::sleep_for(kNamingPause);
    }
  }
  if (!owner.universe.empty()) write_owner(owner);
}

// False: a daemon lives there.
bool SessionFolder::take() {
  for (int tries = 0; tries < kMostTries; ++tries) {
    kill_file_ = open_kill_file(path_);
    if (!kill_file_.is_open()) continue;
    if (!lock(kill_file_.get())) {
      if (errno == EAGAIN || errno == EACCES) return false;
      fail(std::exchange(path_, "") + kKillFile + " cannot be locked");
    }
    struct stat status {};
    if (fstat(kill_file_.get(), &status) == 0 && status.st_nlink > 0) return true;
  }
  throw std::runtime_error("the session folder " + std::exchange(path_, "") + " is made and removed all the time");
}

void SessionFolder::write_owner(const SessionOwner& owner) {
  const std::string path = path_ + kUniverse;
  const std::string text = owner.universe + " " + owner.node + "\n";
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.is_open() || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    fail(path);
  }
}

// Who boots it can still end it (session_owner()).
void SessionFolder::leave_universe() {
  if (path_.empty()) return;
  SessionOwner owner = owner_of(path_);
  owner.universe += kLeft;
  write_owner(owner);
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
std::string adapter_page(const std::string& folder) { return folder + kAdapters; }

bool is_own_session(const std::string& folder) { return open_own_folder(folder).is_open(); }

void check_own_session(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0) {
    if (errno == ENOENT) return;
    fail("the session folder " + folder);
  }
  if (!is_private(status)) {
    throw std::runtime_error("the session folder " + folder +
                             " is not a folder of this user alone (mode 0700); remove it" +
                             " or choose another with -sessionsuffix");
  }
}

pid_t session_process(const std::string& folder) {
  const FileDescriptor file = open_own_file(folder, kKillFile, O_RDWR);
  if (!file.is_open() || !is_locked(file.get())) return 0;
  return read_process_number(file.get());
}

SessionProcess open_session_process(const std::string& folder) {
  SessionProcess found{session_process(folder)};
  if (found.number > 0) found.handle = process_handle(found.number);
  // Its number may have gone to another process before the handle was there, but not while the daemon has the folder.
  if (session_process(folder) != found.number) return {};
  return found;
}

SessionOwner session_owner(const std::string& folder) {
  const FileDescriptor file = open_own_file(folder, kKillFile, O_RDWR);
  const auto until = std::chrono::steady_clock::now() + kNamingTime;
  SessionOwner owner = owner_of(folder);
  while (owner.universe.empty() && file.is_open() && is_locked(file.get()) &&
         std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(kNamingPause);
    owner = owner_of(folder);
  }
  if (owner.universe.ends_with(kLeft)) owner.universe.resize(owner.universe.size() - kLeft.size());
  return owner;
}

void remove_session(const std::string& folder) {
  struct stat status {};
  if (lstat(folder.c_str(), &status) != 0 && errno == ENOENT) return;
  // Who forked a daemon that was ended at its beginning may have the folder for a moment yet.
  const auto until = std::chrono::steady_clock::now() + kNamingTime;
  while (is_held(folder) && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kNamingPause);
  SessionFolder(folder).remove();
}

}  // namespace openlapi::daemon
