// lamboot: boots a universe of the hosts of a boot schema.
#include <cstdio>
#include <cstdlib>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "control/base/installed_programs.h"
#include "control/base/session_suffix.h"
#include "control/boot/include/all_list.h"
#include "control/boot/include/boot.h"
#include "control/daemon/membership/membership.h"
#include "control/daemon/session/session_folder.h"
#include "control/daemon/session/tool_client.h"
#include "control/tools/boot_descendants.h"
#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamboot [options] [boot schema]\n"
    "  boots a universe: a daemon on each host of the boot schema (default: lam-bhost.def)\n"
    "  -v  say what was booted          -d  say everything, let daemons keep the terminal\n"
    "  -x  fault tolerant, as in LAM    -l  pass names to daemons instead of addresses    -s  accepted for LAM\n"
    "  -b  the shell there is the one here     -nn  no -n for the remote shell     -np  never read .profile there\n"
    "  -H  no headline                  -V  print the version and end\n"
    "  -c CONF                  process schema (default: lam-conf.lamd)\n"
    "  -prefix FOLDER           where openlapi is installed on hosts whose line does not say it\n"
    "  -withlamprefixpath FOLDER  accepted for LAM\n"
    "  -ssi KEY VALUE           parameter of the boot service, for example -ssi boot local\n"
    "  -sessionprefix FOLDER    where the session's folder lies (default: $TMPDIR, else /tmp)\n"
    "  -sessionsuffix NAME      end of its name: several universes of one user on one machine\n";

constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(30);

constexpr char kCleanUp[] = "LAM_MPI_SSI_boot_base_cleanup";  // 0: what was started stays after a failure
constexpr std::size_t kMostNamed = 5;                         // why each was not booted has been said before

std::string named(const std::vector<std::string>& hosts, int of) {
  std::string text;
  for (std::size_t n = 0; n < hosts.size() && n < kMostNamed; ++n) text += (n == 0 ? "" : ", ") + hosts[n];
  if (hosts.size() <= kMostNamed) return text;
  return std::to_string(hosts.size()) + " of " + std::to_string(of) + " nodes: " + text + ", ...";
}

// Each host reads it, and so does this one: a mistake in it is told once, and nothing is started.
void check_process_schema(const BootOptions& options) {
  if (!options.has("c")) return;  // a module may do without the default one
  LIST* processes = nullptr;
  if (hbootparse(-1, options.get(), nullptr, nullptr, &processes) != 0) throw std::runtime_error("nothing was started");
  al_free(processes);
}

// The daemons have the universe now; that they are linked is a matter of moments. False: not all.
bool await_links(const std::string& folder, bool verbose) {
  const auto universe = ToolClient(folder).ask_for<UniverseMessage>(UniverseRequest{1}, kAnswerTime);
  int lost = 0;
  for (std::size_t n = 0; n < universe.nodes.size(); ++n) {
    const UniverseNode& node = universe.nodes[n];
    if (node.state != NodeState::kLost) continue;
    std::fprintf(stderr, "lamboot: n%zu (%s): its daemon has ended, or it and others cannot reach each other\n", n,
                 node.host.c_str());
    ++lost;
  }
  for (std::size_t n = 0; verbose && lost == 0 && n < universe.nodes.size(); ++n) {
    const UniverseNode& node = universe.nodes[n];
    if (node.state == NodeState::kMember) std::printf("n%zu (%s) is booted\n", n, node.host.c_str());
  }
  return lost == 0;
}

// A universe that is not whole from the beginning is none. Daemons without a way from here end by themselves.
[[noreturn]] void take_back(BootSequence& boot, const std::string& why) {
  if (std::getenv(kCleanUp) == std::string_view("0")) throw std::runtime_error(why);
  std::fprintf(stderr, "lamboot: %s; ending the daemons again\n", why.c_str());
  if (boot.take_back()) throw std::runtime_error("the universe is not booted; its daemons are ended again");
  throw std::runtime_error("the universe is not booted. Not reached, so tkill there ends what is left: " +
                           named(boot.failed_hosts(), boot.count()));
}

// Else tkill of another session would take it for a part of that one.
void check_suffix(const std::string& suffix) {
  static const std::regex of_daemons_and_tasks("(.*-)?[nt][0-9]+");
  if (!std::regex_match(suffix, of_daemons_and_tasks)) return;
  throw std::invalid_argument("the session suffix is '" + suffix + "'; allowed: one without an end like n1 or t1" +
                              ", which the folders of a universe's further daemons and tasks have");
}

// Starts the daemons, which stay once they are linked.
int boot_universe(BootOptions& options, const std::string& folder) {
  setenv(kCleanUp, "1", 0);
  BootDescendants descendants;
  if (std::getenv(kCleanUp) == std::string_view("0")) descendants.let_stay();
  BootSequence boot(options);
  if (!boot.start(LAM_SSI_BOOT_PROC_LAMD)) {
    const auto failed = boot.failed_hosts();
    throw std::runtime_error("the universe is not booted; daemons that were started are ended again" +
                             (failed.empty() ? "" : ". Not booted: " + named(failed, boot.count())));
  }
  try {
    if (await_links(folder, options.has("v") || options.has("d"))) {
      descendants.let_stay();
      return 0;
    }
  } catch (const std::runtime_error& wrong) {
    take_back(boot, wrong.what());
  }
  take_back(boot, "some daemons do not belong to the universe");
}

int run(BootOptions& options) {
  if (options.has("V")) {
    std::puts("openlapi " OPENLAPI_VERSION);
    return 0;
  }
  options.check_words(0, 1, "boot schema");
  // Of a universe that was booted before.
  unsetenv("LAM_MPI_SSI_boot_base_origin");
  unsetenv("LAM_MPI_SSI_boot_base_universe");
  check_suffix(options.has("sessionsuffix") ? options.value("sessionsuffix") : suffix_of_variables());
  pass_session_on(options);
  pass_remote_shell_on(options);
  prefer_own_programs();
  const std::string folder = session_path(options.session_name());
  check_own_session(folder);
  const FileDescriptor turn = take_turn_to_boot(folder);
  if (const pid_t process = session_process(folder)) {
    throw std::runtime_error("a universe is running here already (process " + std::to_string(process) + " in " +
                             folder + "); end it with lamhalt, or with tkill when that does not help");
  }
  check_process_schema(options);
  if (!options.has("H")) std::puts("openlapi " OPENLAPI_VERSION);
  std::fflush(stdout);
  return boot_universe(options, folder);
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdxlHVhbs");
  options.add_words({"nn", "np"});
  options.add_values({"c", "prefix", "withlamprefixpath"});
  options.add_common();
  return openlapi::daemon::tool_main("lamboot", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
