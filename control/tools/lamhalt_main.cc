// lamhalt: ends the universe.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/daemon/membership.h"
#include "control/daemon/tool_client.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamhalt [options]\n"
    "  ends all daemons of the universe\n"
    "  -v, -d  say how many have ended    -H  no headline\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(60);
constexpr std::chrono::seconds kEndTime{10};
constexpr std::uint32_t kHaltMilliseconds = std::chrono::milliseconds(kHaltTime).count();

std::vector<std::uint32_t> missing(const std::vector<UniverseNode>& universe, const std::vector<std::uint32_t>& ended) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t node = 0; node < universe.size(); ++node) {
    if (universe[node].lives() && !std::ranges::binary_search(ended, node)) nodes.push_back(node);
  }
  return nodes;
}

int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  const std::string folder = session_path(options.session_name());
  ToolClient daemon(folder);
  if (!options.has("H")) std::puts("openlapi " OPENLAPI_VERSION);
  daemon.wake();
  daemon.check_alive();
  const DaemonMessage before = daemon.ask(UniverseRequest{0}, kAnswerTime);
  const DaemonMessage after = daemon.ask(HaltMessage{kHaltMilliseconds}, kAnswerTime);
  const auto* universe = std::get_if<UniverseMessage>(&before);
  const auto* halted = std::get_if<HaltedMessage>(&after);
  if (universe == nullptr || halted == nullptr) throw std::runtime_error("lamd's answer makes no sense");
  const std::vector<std::uint32_t> silent = missing(universe->nodes, halted->nodes);
  if (!daemon.wait_for_end(kEndTime)) throw std::runtime_error("lamd does not end; tkill ends it by force");
  const std::size_t ended = halted->nodes.size();
  if (options.has("v") || options.has("d")) {
    std::printf("%zu of %zu daemons have ended\n", ended, ended + silent.size());
  }
  if (silent.empty()) return 0;
  throw std::runtime_error("not all daemons have ended: no answer after " + std::to_string(kHaltTime.count()) +
                           " s from " + names_of(silent, universe->nodes) +
                           ": the daemon there (lamd), or one on the way, hangs or is stopped, or was killed; lamwipe "
                           "with the hosts' boot schema ends it, or tkill there");
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdHh");
  options.add_common();
  return openlapi::daemon::tool_main("lamhalt", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
