// lamhalt: ends the universe.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

#include "control/daemon/membership/membership.h"
#include "control/daemon/session/tool_client.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamhalt [options]\n"
    "  ends all daemons of the universe\n"
    "  -v, -d  say how many have ended    -H  no headline    -i  do not wait for their end\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(60);
constexpr std::chrono::seconds kEndTime{10};
constexpr std::uint32_t kHaltMilliseconds = std::chrono::milliseconds(kHaltTime).count();

struct Missing {
  std::vector<std::uint32_t> silent{};  // they are there, and have not answered their neighbour
  std::vector<std::uint32_t> rest{};    // they were lost, are behind others, or another lamhalt has heard of them
};

Missing missing(const std::vector<UniverseNode>& universe, const HaltedMessage& halted) {
  Missing nodes;
  for (std::uint32_t node = 0; node < universe.size(); ++node) {
    if (!universe[node].lives() || std::ranges::binary_search(halted.nodes, node)) continue;
    (std::ranges::binary_search(halted.silent, node) ? nodes.silent : nodes.rest).push_back(node);
  }
  return nodes;
}

[[noreturn]] void name_missing(const Missing& nodes, const std::vector<UniverseNode>& universe, std::int64_t seconds) {
  constexpr char kWhatHelps[] = "; lamwipe with the hosts' boot schema ends what is left, or tkill there";
  const std::string rest = names_of(nodes.rest, universe);
  if (nodes.silent.empty()) {
    throw std::runtime_error("not all daemons have said that they have ended: there is no connection to " + rest +
                             ": the daemon there (lamd) was killed or has not come, its host or network fails, or " +
                             "another lamhalt has ended it" + kWhatHelps);
  }
  throw std::runtime_error("not all daemons have ended: no answer after " + std::to_string(seconds) + " s from " +
                           names_of(nodes.silent, universe) + ": the daemon there (lamd) hangs or is stopped" +
                           (rest.empty() ? "" : "; behind it, or lost: " + rest) + kWhatHelps);
}

int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  const std::string folder = session_path(options.session_name());
  wake_daemon(folder);
  ToolClient daemon(folder);
  if (!options.has("H")) std::puts("openlapi " OPENLAPI_VERSION);
  daemon.check_alive();
  if (options.has("i")) {
    daemon.tell(HaltMessage{kHaltMilliseconds}, kAnswerTime);
    return 0;
  }
  const auto universe = daemon.ask_here<UniverseMessage>(UniverseRequest{0});
  const auto begin = std::chrono::steady_clock::now();
  const auto halted = daemon.ask_for<HaltedMessage>(HaltMessage{kHaltMilliseconds}, kAnswerTime);
  const auto waited = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
  const Missing nodes = missing(universe.nodes, halted);
  const std::size_t missed = nodes.silent.size() + nodes.rest.size();
  if (!daemon.wait_for_end(kEndTime)) throw std::runtime_error("lamd does not end; tkill ends it by force");
  const std::size_t ended = halted.nodes.size();
  if (options.has("v") || options.has("d")) {
    std::printf("%zu of %zu daemons have ended\n", ended, ended + missed);
  }
  if (missed > 0) name_missing(nodes, universe.nodes, waited.count());
  return 0;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdHhi");
  options.add_common();
  return openlapi::daemon::tool_main("lamhalt", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
