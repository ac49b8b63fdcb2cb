// hboot: starts the processes of the run-time environment on this node, for a booting agent that runs it through a
// remote shell with the key of the boot on standard input.
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "api/boot.h"
#include "api/lam-ssi-boot.h"

namespace {

constexpr const char* kUsage =
    "usage: hboot [-d] [-v] [-c SCHEMA] [-sessionprefix P] [-sessionsuffix S] [-ssi NAME VALUE]... -I TOPOLOGY\n"
    "Starts the processes of a process schema on this node; the key of the boot comes on standard input.\n";

OPT* parse(int argc, char** argv) {
  OPT* args = ao_init();
  ao_setflags(args, AOPRESERVE_ARGV);
  for (const char* option : {"h", "d", "v"}) ao_setopt(args, option, nullptr, 0, 0);
  for (const char* option : {"c", "I", "sessionprefix", "sessionsuffix"}) ao_setopt(args, option, nullptr, 1, 0);
  ao_setopt(args, "ssi", nullptr, 2, 0);
  return ao_parse(args, &argc, argv) == 0 ? args : nullptr;
}

void set_parameters(OPT* args) {
  for (int n = 0; n < ao_ninsts(args, "ssi"); ++n) {
    setenv((std::string("LAM_MPI_SSI_") + ao_param(args, "ssi", n, 0)).c_str(), ao_param(args, "ssi", n, 1), 1);
  }
}

// What lies beside hboot is found first: a host's installation may be in nobody's PATH.
void add_own_folder(const char* program) {
  const char* slash = std::strrchr(program, '/');
  if (slash == nullptr) return;
  const char* path = std::getenv("PATH");
  setenv("PATH", (std::string(program, slash) + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
}

// As lamd does, a process goes to the background and its first part ends: with status 0, or with another and why on
// standard error. One that stays longer is taken for one that does not.
constexpr int kForegroundMilliseconds = 5000;

void copy_errors(int errors) {
  char bytes[4096];
  const ssize_t count = pread(errors, bytes, sizeof bytes, 0);
  if (count > 0) std::fwrite(bytes, 1, static_cast<std::size_t>(count), stderr);
}

bool has_begun_well(pid_t child, const char* program, int errors) {
  const int handle = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  pollfd wait{handle, POLLIN, 0};
  int status = 0;
  if (handle < 0 || poll(&wait, 1, kForegroundMilliseconds) != 1 || waitpid(child, &status, 0) != child) return true;
  close(handle);
  if (status == 0) return true;
  copy_errors(errors);
  std::fprintf(stderr, "hboot: %s has ended with %s %d\n", program, WIFEXITED(status) ? "status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return false;
}

// In a session of its own, with nothing of ours but the key on standard input: the agent waits for our outputs.
bool start(char** argv) {
  int ends[2];
  const int errors = static_cast<int>(syscall(SYS_memfd_create, "errors", MFD_CLOEXEC));
  if (errors < 0 || pipe2(ends, O_CLOEXEC) != 0 || lam_ssi_boot_base_write_key(ends[1]) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID);
  pid_t child = -1;
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv, environ);
  if (error != 0) std::fprintf(stderr, "hboot: %s cannot be started: %s\n", argv[0], std::strerror(error));
  close(ends[0]);
  close(ends[1]);
  const bool well = error == 0 && has_begun_well(child, argv[0], errors);
  close(errors);
  return well;
}

}  // namespace

int main(int argc, char** argv) {
  OPT* args = parse(argc, argv);
  if (args != nullptr && ao_taken(args, "h") != 0) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  if (args == nullptr || ao_taken(args, "I") == 0) return std::fputs(kUsage, stderr) < 0 ? 1 : 2;
  set_parameters(args);
  add_own_folder(argv[0]);
  LIST* processes = nullptr;
  if (lam_ssi_boot_base_read_key(STDIN_FILENO) != 0 ||
      hbootparse(-1, args, ao_param(args, "I", 0, 0), nullptr, &processes) != 0) {
    return 1;
  }
  for (void* at = al_top(processes); at != nullptr; at = al_next(processes, at)) {
    const auto* process = static_cast<const psc*>(at);
    if (!start(process->psc_argv)) return 1;
    poll(nullptr, 0, process->psc_delay * 1000);
  }
  al_free(processes);
  ao_free(args);
  return 0;
}
