// lamd: the control daemon. Started by boot modules, as lam-conf.lamd says; goes to the background before it reports,
// so that the agent that started it has an end, and hears of early mistakes.
#include <fcntl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>

#include "control/base/fork_failure.h"
#include "control/daemon/service/boot_options.h"
#include "control/daemon/service/daemon.h"
#include "control/daemon/service/daemon_boot.h"
#include "control/daemon/session/session_folder.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamd -H ADDRESS -P PORT -n NODE -o ORIGIN [options]\n"
    "  the daemon of a node of a universe; lamboot starts it, with the key of the boot on standard input\n"
    "  -d  keep standard error instead of the log, if it is a terminal or a file    -v, -x  accepted for LAM\n"
    "  -ssi KEY VALUE           parameter of the boot service\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr int kHighestPort = 65535;
constexpr int kHighestNode = static_cast<int>(kMostNodes) - 1;

void check_command_line(const BootOptions& options) {
  options.check_words(0, 0, "word");
  for (const char* name : {"H", "P", "n", "o"}) {
    if (options.value(name).empty()) {
      throw std::invalid_argument(std::string("option -") + name +
                                  " is missing: lamboot starts lamd, nobody else does");
    }
  }
  options.check_number("P", 1, kHighestPort);
  for (const char* name : {"n", "o"}) options.check_number(name, 0, kHighestNode);
}

bool is_promiscuous() {
  const char* value = std::getenv("LAM_MPI_SSI_boot_base_promisc");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

// With `debug` messages go on to the terminal, or the file. A reader of a pipe, as a remote shell is, waits for its
// end.
bool keeps_errors(bool debug) {
  struct stat errors {};
  if (!debug || fstat(STDERR_FILENO, &errors) != 0) return false;
  return isatty(STDERR_FILENO) != 0 || (S_ISREG(errors.st_mode) && errors.st_nlink > 0);
}

// The parent ends here: the agent that started it sees that all is well so far. Messages go to the session's log from
// now on.
void go_to_background(SessionFolder& session, bool debug) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error(std::string("fork: ") + fork_failure(errno));
  if (child > 0) {
    session.leave_to_child();
    std::fflush(nullptr);
    _exit(0);
  }
  setsid();
  session.write_process_number(getpid());
  const FileDescriptor null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const FileDescriptor log = session.open_log();
  dup2(null.get(), STDIN_FILENO);
  dup2(null.get(), STDOUT_FILENO);
  if (!keeps_errors(debug)) dup2(log.get(), STDERR_FILENO);
  [[maybe_unused]] const int ignored = chdir("/");
}

FileDescriptor ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) sigaddset(&set, signal);
  signal(SIGPIPE, SIG_IGN);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  FileDescriptor signals(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.is_open()) throw std::runtime_error(std::string("signalfd: ") + std::strerror(errno));
  return signals;
}

void run(BootOptions& options) {
  check_command_line(options);
  DaemonBoot boot(options);
  SessionFolder session = boot.take_session();
  DaemonSetup setup;
  setup.key = boot.key();
  setup.promiscuous = is_promiscuous();
  std::uint32_t port = 0;
  setup.peer_listener = listen_to_peers(setup.promiscuous ? 0 : boot.address(), &port);
  // From now on tools can connect; they are answered when the universe is known.
  setup.tool_listener = session.listen_to_tools();
  go_to_background(session, options.has("d"));
  UniverseTable table = boot.join(port);
  setup.joins = boot.joins();
  setup.agent = boot.take_agent();
  setup.signals = ending_signals();
  Daemon(std::move(table), session, std::move(setup)).run();
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  using namespace openlapi::daemon;
  try {
    BootOptions options;
    options.add_flags("dvxh");
    options.add_values({"H"});
    options.add_numbers({"P", "n", "o"});
    options.add_common();
    if (!options.parse(count, words)) return 2;
    if (options.has("h")) return std::fputs(kUsage, stdout) < 0 ? 1 : 0;
    run(options);
    return 0;
  } catch (const std::invalid_argument& wrong) {
    std::fprintf(stderr, "lamd: %s\n", wrong.what());
    return 2;
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "lamd: %s\n", wrong.what());
    return 1;
  }
}
