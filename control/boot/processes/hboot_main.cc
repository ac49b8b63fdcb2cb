// hboot: starts the processes of the run-time environment on this node, for a booting agent that runs it through a
// remote shell with the key of the boot on standard input.
#include <fcntl.h>
#include <linux/memfd.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "control/base/installed_programs.h"
#include "control/base/process_handle.h"
#include "control/base/spawned_program.h"
#include "control/base/standard_descriptors.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/helper_environment.h"

namespace {

using openlapi::exec_words;
using openlapi::FileDescriptor;
using openlapi::open_standard_descriptors;
using openlapi::prefer_own_programs;
using openlapi::prefer_programs_of;
using openlapi::process_handle;
using openlapi::spawn_program;
using openlapi::SpawnedSession;
using openlapi::SpawnedStreams;
using openlapi::without_hboot;
using openlapi::boot::take_command_line;
using openlapi::boot::wants_help;

constexpr const char* kUsage =
    "usage: hboot [-d] [-v] [-t] [-s] [-stay] [-c SCHEMA] [-prefix FOLDER] [-sessionprefix P] [-sessionsuffix S]\n"
    "             [-ssi NAME VALUE]... -I TOPOLOGY [-R TOPOLOGY]\n"
    "       hboot PROGRAM [WORD]...\n"
    "Starts the processes of a process schema on this node; the key of the boot comes on standard input.\n"
    "  -t     runs tkill first: a daemon that is here is ended\n"
    "  -stay  says \"started\" then, and ends when they have ended\n"
    "With a PROGRAM, lamd or lamtree, becomes that one, which is installed where no PATH leads.\n";

OPT* parse(int argc, char** argv) {
  OPT* args = ao_init();
  for (const char* option : {"h", "d", "v", "t", "s", "stay"}) ao_setopt(args, option, nullptr, 0, 0);
  for (const char* option : {"c", "R", "prefix", "sessionprefix", "sessionsuffix"}) {
    ao_setopt(args, option, nullptr, 1, 0);
  }
  ao_setopt(args, "I", nullptr, 1, AOMUST);
  ao_setopt(args, "ssi", nullptr, 2, 0);
  return take_command_line(args, argc, argv) ? args : nullptr;
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
  const FileDescriptor handle = process_handle(child);
  pollfd wait{handle.get(), POLLIN, 0};
  int status = 0;
  if (!handle.is_open() || poll(&wait, 1, kForegroundMilliseconds) != 1 || waitpid(child, &status, 0) != child) {
    return true;
  }
  if (status == 0) return true;
  copy_errors(errors);
  std::fprintf(stderr, "hboot: %s has ended with %s %d\n", program, WIFEXITED(status) ? "status" : "signal",
               WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
  return false;
}

// In a session of its own, with nothing of ours but the key on standard input: the agent waits for our outputs.
bool start(char** argv) {
  int ends[2];
  const FileDescriptor errors(static_cast<int>(syscall(SYS_memfd_create, "errors", MFD_CLOEXEC)));
  if (!errors.is_open() || pipe2(ends, O_CLOEXEC) != 0) return false;
  FileDescriptor key(ends[0]), key_writer(ends[1]);
  if (lam_ssi_boot_base_write_key(key_writer.get()) != 0) return false;
  pid_t child = -1;
  const int error =
      spawn_program(argv[0], argv, {key.get(), SpawnedStreams::kNowhere, errors.get()}, SpawnedSession::kOwn, child);
  if (error != 0) std::fprintf(stderr, "hboot: %s cannot be started: %s\n", argv[0], std::strerror(error));
  key.reset();
  key_writer.reset();
  return error == 0 && has_begun_well(child, argv[0], errors.get());
}

// -t: only this user's, of this session. Where nothing is there, tkill ends well.
bool end_session_before(OPT* args) {
  std::vector<std::string> words{"tkill"};
  for (const char* option : {"sessionprefix", "sessionsuffix"}) {
    const char* value = ao_param(args, option, 0, 0);
    if (value != nullptr) words.insert(words.end(), {std::string("-") + option, value});
  }
  pid_t child = -1;
  int status = 0;
  const int error = spawn_program("tkill", exec_words(words).data(), {}, SpawnedSession::kThis, child);
  if (error != 0) std::fprintf(stderr, "hboot: tkill cannot be started: %s\n", std::strerror(error));
  return error == 0 && waitpid(child, &status, 0) == child && status == 0;
}

// LAM's rsh module puts quotes round it for the shell there, also where there is none.
std::string topology_of(OPT* args, const char* option) {
  const char* value = ao_param(args, option, 0, 0);
  std::string text = value == nullptr ? "" : value;
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
  return text;
}

// Daemons leave the processes that started them: the next one above gets them then, which shall be this one.
void become_reaper() { prctl(PR_SET_CHILD_SUBREAPER, 1); }

// Nobody reads our outputs any more.
void stay_until_all_have_ended() {
  std::puts("started");
  std::fflush(stdout);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) dup2(null, stream);
  while (wait(nullptr) > 0 || errno == EINTR) {
  }
}

// Boot modules find no more on a host than what is in bin there.
int run_in_place(char** words) {
  execvp(words[0], words);
  std::fprintf(stderr, "hboot: %s cannot be run: %s\n", words[0], std::strerror(errno));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  open_standard_descriptors();
  prefer_own_programs();
  if (argc > 1 && argv[1][0] != '-') return run_in_place(argv + 1);
  if (wants_help(argc, argv)) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
  OPT* args = parse(argc, argv);
  if (args == nullptr) return std::fputs(kUsage, stderr) < 0 ? 1 : 2;
  if (const char* prefix = ao_param(args, "prefix", 0, 0)) prefer_programs_of(std::string(prefix) + "/bin");
  const bool stays = ao_taken(args, "stay") != 0;
  if (stays) become_reaper();
  LIST* processes = nullptr;
  if (lam_ssi_boot_base_read_key(STDIN_FILENO) != 0 || (ao_taken(args, "t") != 0 && !end_session_before(args)) ||
      hbootparse(-1, args, topology_of(args, "I").c_str(), topology_of(args, "R").c_str(), &processes) != 0) {
    return 1;
  }
  for (void* at = al_top(processes); at != nullptr; at = al_next(processes, at)) {
    const auto* process = static_cast<const psc*>(at);
    if (!start(without_hboot(process->psc_argv))) return 1;
    poll(nullptr, 0, process->psc_delay * 1000);
  }
  al_free(processes);
  ao_free(args);
  if (stays) stay_until_all_have_ended();
  return 0;
}
