#include "control/job/node/job_cleanup.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <set>

#include "control/base/fork_failure.h"
#include "control/base/process_handle.h"

namespace openlapi {
namespace {

// Smaller than PIPE_BUF, so it comes whole or not at all.
struct Notice {
  char what;  // '+' or '-'
  pid_t group;
};

constexpr const char* kMemory = "/dev/shm";

void remove_directory(const std::string& directory) {
  std::error_code ignored;
  if (!directory.empty()) std::filesystem::remove_all(directory, ignored);
}

// The watcher must outlive what ends lapirun (a closed terminal, a signal to its group) and must not keep lapirun's
// output open, whose readers wait for its end.
void leave_parents_surroundings(int pipe) {
  setsid();
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  prctl(PR_SET_NAME, "lapirun-watch");
  const int null = open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  dup2(pipe, 3);
  close_range(4, ~0U, 0);
  [[maybe_unused]] const int ignored = chdir("/");
}

[[noreturn]] void watch(int pipe, const std::string& directory, const std::string& memory_directory) {
  leave_parents_surroundings(pipe);
  std::set<pid_t> groups;
  Notice notice;
  while (true) {
    const ssize_t count = read(3, &notice, sizeof notice);
    if (count < 0 && errno == EINTR) continue;
    if (count != sizeof notice) break;
    if (notice.what == '+') groups.insert(notice.group);
    if (notice.what == '-') groups.erase(notice.group);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  remove_directory(directory);
  remove_directory(memory_directory);
  _exit(0);
}

}  // namespace

bool JobCleanup::open(const std::string& parent, std::string& error) {
  std::uint64_t number = 0;
  int ends[2];
  if (getrandom(&number, sizeof number, 0) != sizeof number || pipe2(ends, O_CLOEXEC) != 0) {
    error = std::string("cannot make a pipe: ") + std::strerror(errno);
    return false;
  }
  char name[64];
  std::snprintf(name, sizeof name, "/lapirun-%u-%016" PRIx64, geteuid(), number);
  directory_ = std::filesystem::absolute(parent).string() + name;
  memory_directory_ = std::string(kMemory) + name;
  FileDescriptor reading(ends[0]);
  pipe_.reset(ends[1]);
  // First the watcher, then what it has to remove.
  watcher_ = fork();
  if (watcher_ == 0) watch(reading.get(), directory_, memory_directory_);
  if (watcher_ < 0) {
    error = std::string("cannot start the job's watcher: fork: ") + fork_failure(errno);
    watcher_ = 0;
    return false;
  }
  if (mkdir(memory_directory_.c_str(), 0700) != 0) memory_directory_.clear();
  if (mkdir(directory_.c_str(), 0700) == 0) return true;
  error = "cannot make the job's directory in '" + parent + "' (set TMPDIR to another place): " + std::strerror(errno);
  return false;
}

void JobCleanup::tell(char what, pid_t group) {
  Notice notice;
  std::memset(&notice, 0, sizeof notice);
  notice.what = what;
  notice.group = group;
  // Without the watcher (someone killed it) the job goes on: it is needed only when lapirun is killed too.
  [[maybe_unused]] const ssize_t ignored = write(pipe_.get(), &notice, sizeof notice);
}

void JobCleanup::close() {
  if (watcher_ == 0) return;
  remove_directory(directory_);
  remove_directory(memory_directory_);
  pipe_.reset();
  await_child(watcher_);
  watcher_ = 0;
}

}  // namespace openlapi
