// slow_agent: a remote shell of bench/boot_bench whose launches take their time. A node is a network namespace of that
// name, with a folder of its own for temporary files. It is a program and no script: what is simulated is the delay,
// and 64 shells with their helpers would be the most of what a boot takes on few processors.
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>

namespace {

constexpr char kUsage[] =
    "usage: slow_agent blocks|calls_back SECONDS FOLDER NODE [-n] COMMAND\n"
    "Runs COMMAND in the network namespace NODE, with TMPDIR below FOLDER: after so many seconds, or returns at once\n"
    "and runs it then.\n";

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "slow_agent: %s: %s\n", what.c_str(), std::strerror(errno));
  _exit(1);
}

void wait_for(double seconds) {
  timespec left{static_cast<time_t>(seconds), 0};
  left.tv_nsec = static_cast<long>((seconds - static_cast<double>(left.tv_sec)) * 1e9);
  while (nanosleep(&left, &left) != 0 && errno == EINTR) {
  }
}

[[noreturn]] void run_there(const std::string& folder, const std::string& node, const char* command) {
  const std::string name_space = "/run/netns/" + node, temporary = folder + "/" + node;
  const int file = open(name_space.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0 || setns(file, CLONE_NEWNET) != 0) fail(name_space);
  if (mkdir(temporary.c_str(), 0700) != 0 && errno != EEXIST) fail(temporary);
  setenv("TMPDIR", temporary.c_str(), 1);
  execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  fail("/bin/sh");
}

// Nobody waits for what comes later, but the key of the boot stays on standard input.
void return_at_once() {
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) _exit(0);
  const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
  dup2(null, STDOUT_FILENO);
  dup2(null, STDERR_FILENO);
}

}  // namespace

int main(int count, char** words) {
  const bool calls_back = count > 1 && std::strcmp(words[1], "calls_back") == 0;
  if (count < 6 || (!calls_back && std::strcmp(words[1], "blocks") != 0)) return std::fputs(kUsage, stderr) < 0 ? 1 : 2;
  if (calls_back) return_at_once();
  wait_for(std::atof(words[2]));
  run_there(words[3], words[4], words[count - 1]);
}
