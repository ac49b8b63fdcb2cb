// lamboot: boots a universe of the hosts of a boot schema.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "control/daemon/membership.h"
#include "control/daemon/tool_client.h"
#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamboot [options] [boot schema]\n"
    "  boots a universe: a daemon on each host of the boot schema (default: lam-bhost.def)\n"
    "  -v  say what was booted          -d  say everything, let daemons keep the terminal\n"
    "  -x  fault tolerant, as in LAM    -l  pass names to daemons instead of addresses\n"
    "  -H  no headline                  -V  print the version and end\n"
    "  -c CONF                  process schema (default: lam-conf.lamd)\n"
    "  -prefix FOLDER           where openlapi is installed on hosts whose line does not say it\n"
    "  -ssi KEY VALUE           parameter of the boot service, for example -ssi boot local\n"
    "  -sessionprefix FOLDER    where the session's folder lies (default: $TMPDIR, else /tmp)\n"
    "  -sessionsuffix NAME      end of its name: several universes of one user on one machine\n";

constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(30);

std::string joined(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) text += (text.empty() ? "" : ", ") + host;
  return text;
}

// The daemons have the universe now; that they are linked is a matter of moments.
int await_links(const std::string& folder, bool verbose) {
  const DaemonMessage answer = ToolClient(folder).ask(UniverseRequest{1}, kAnswerTime);
  const auto* universe = std::get_if<UniverseMessage>(&answer);
  if (universe == nullptr) throw std::runtime_error("lamd's answer makes no sense");
  int lost = 0;
  for (std::size_t n = 0; n < universe->nodes.size(); ++n) {
    const UniverseNode& node = universe->nodes[n];
    if (node.state == NodeState::kMember && verbose) std::printf("n%zu (%s) is booted\n", n, node.host.c_str());
    if (node.state != NodeState::kLost) continue;
    std::fprintf(stderr, "lamboot: n%zu (%s): its daemon ended, or cannot reach the others\n", n, node.host.c_str());
    ++lost;
  }
  return lost == 0 ? 0 : kExitFailure;
}

int run(BootOptions& options) {
  if (options.has("V")) {
    std::puts("openlapi " OPENLAPI_VERSION);
    return 0;
  }
  pass_session_on(options);
  prefer_own_programs();
  const std::string folder = session_path(options.session_name());
  if (const pid_t process = session_process(folder)) {
    throw std::runtime_error("a universe is running here already (process " + std::to_string(process) + " in " +
                             folder + "); end it with lamhalt, or with tkill when that does not help");
  }
  if (!options.has("H")) std::puts("openlapi " OPENLAPI_VERSION);
  std::fflush(stdout);
  setenv("LAM_MPI_SSI_boot_base_cleanup", "1", 0);
  BootSequence boot(options);
  if (!boot.start(LAM_SSI_BOOT_PROC_LAMD)) {
    const auto failed = boot.failed_hosts();
    throw std::runtime_error("the universe is not booted; daemons that were started are ended again" +
                             (failed.empty() ? "" : ". Not booted: " + joined(failed)));
  }
  return await_links(folder, options.has("v") || options.has("d"));
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdxlHVh");
  options.add_values({"c", "prefix"});
  options.add_common();
  return openlapi::daemon::tool_main("lamboot", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
