// lamgrow: adds a node to the universe. The daemon here is asked for the key and the nodes, a boot module starts the
// new node's daemon, and the daemon here takes it in.
#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "control/base/installed_programs.h"
#include "control/daemon/membership/membership.h"
#include "control/daemon/session/tool_client.h"
#include "control/tools/boot_descendants.h"
#include "control/tools/boot_sequence.h"
#include "control/tools/tool_main.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamgrow [options] host\n"
    "  adds a node to the universe that runs here: starts a daemon on the host\n"
    "  -n NUMBER                its number (default: one more than the highest)\n"
    "  -cpu COUNT               its processors (default: 1)\n"
    "  -no-schedule             it is not for default scheduling\n"
    "  -x                       fault tolerant, as in LAM\n"
    "  -v  say what was booted          -d  say everything, let the daemon keep the terminal\n"
    "  -c CONF                  process schema (default: lam-conf.lamd)\n"
    "  -prefix FOLDER           where openlapi is installed on the host (default: its PATH)\n"
    "  -ssi KEY VALUE           parameter of the boot service, for example -ssi boot local\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr int kMostProcessors = 65536;
constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(30);

// From now on the boot SSI has the universe's key, not one of its own.
void take_key(const MessageBytes& key) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error(std::string("pipe: ") + std::strerror(errno));
  const FileDescriptor reader(ends[0]), writer(ends[1]);
  if (write(writer.get(), key.data(), key.size()) != static_cast<ssize_t>(key.size()) ||
      lam_ssi_boot_base_read_key(reader.get()) != 0) {
    throw std::runtime_error("the key of the universe cannot be used");
  }
}

// Nodes whose daemons are lost are none to a boot module.
std::vector<lamnode> nodes_of(UniverseMessage& universe) {
  std::vector<lamnode> nodes(universe.nodes.size());
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    UniverseNode& from = universe.nodes[n];
    lamnode& node = nodes[n];
    node.lnd_nodeid = from.lives() ? static_cast<int>(n) : NOTNODEID;
    if (!from.lives()) continue;
    node.lnd_type = static_cast<int>(from.type) | (n == universe.here ? NT_ME : 0);
    node.lnd_ncpus = static_cast<int>(from.cpus);
    node.lnd_hname = from.host.empty() ? nullptr : from.host.data();
    node.lnd_addr.sin_family = AF_INET;
    node.lnd_addr.sin_addr.s_addr = htonl(from.address);
    node.lnd_addr.sin_port = htons(static_cast<std::uint16_t>(from.port));
  }
  return nodes;
}

int run(BootOptions& options) {
  options.check_words(1, 1, "host");
  options.check_number("n", 0, static_cast<int>(kMostNodes) - 1);
  options.check_number("cpu", 1, kMostProcessors);
  pass_session_on(options);
  prefer_own_programs();
  ToolClient daemon(session_path(options.session_name()));
  daemon.check_alive();
  daemon.ask_for<UniverseMessage>(UniverseRequest{1}, kAnswerTime);  // waits until all daemons are linked
  const auto growth = daemon.ask_for<GrowthMessage>(GrowthRequest{}, kAnswerTime);
  if (!growth.refused.empty()) throw std::runtime_error("the universe cannot grow now: " + growth.refused);
  // Only now nobody else here takes a number.
  auto universe = daemon.ask_for<UniverseMessage>(UniverseRequest{1}, kAnswerTime);
  take_key(growth.key);
  // The new daemon takes connections from where those of the others come; what the user says here counts more.
  if (growth.promiscuous != 0) setenv("LAM_MPI_SSI_boot_base_promisc", "1", 0);
  const std::vector<lamnode> nodes = nodes_of(universe);
  if (lam_ssi_boot_base_set_universe(nodes.data(), static_cast<int>(nodes.size()), static_cast<int>(growth.origin)) !=
      0) {
    throw std::runtime_error("nothing was started");
  }
  BootDescendants descendants;
  BootSequence boot(options, BootSequence::Nodes::kOneHost);
  const bool started = boot.start(LAM_SSI_BOOT_PROC_LAMD);
  const NodeRecord record{static_cast<std::uint32_t>(boot.joining().lnd_nodeid), universe_node_of(boot.joining())};
  const std::string name = "n" + std::to_string(record.number) + " (" + record.node.host + ")";
  if (!started) throw std::runtime_error(name + " is not booted; the universe is as it was");
  const auto outcome = daemon.ask_for<OutcomeMessage>(GrowMessage{record}, kAnswerTime);
  if (!outcome.failure.empty()) throw std::runtime_error(name + " is not in the universe: " + outcome.failure);
  descendants.let_stay();
  if (options.has("v") || options.has("d")) std::printf("%s is booted\n", name.c_str());
  return 0;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdxh");
  options.add_words({"no-schedule"});
  options.add_values({"c", "prefix"});
  options.add_numbers({"n", "cpu"});
  options.add_common();
  return openlapi::daemon::tool_main("lamgrow", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
