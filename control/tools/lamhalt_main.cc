// lamhalt: ends the universe.
#include <algorithm>
#include <cstdio>
#include <stdexcept>

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

int run(BootOptions& options) {
  options.check_words(0, 0, "word");
  const std::string folder = session_path(options.session_name());
  ToolClient daemon(folder);
  if (!options.has("H")) std::puts("openlapi " OPENLAPI_VERSION);
  daemon.wake();
  daemon.check_alive();
  const DaemonMessage before = daemon.ask(UniverseRequest{0}, kAnswerTime);
  const DaemonMessage after = daemon.ask(HaltMessage{}, kAnswerTime);
  const auto* universe = std::get_if<UniverseMessage>(&before);
  const auto* halted = std::get_if<HaltedMessage>(&after);
  if (universe == nullptr || halted == nullptr) throw std::runtime_error("lamd's answer makes no sense");
  if (!daemon.wait_for_end(kEndTime)) throw std::runtime_error("lamd does not end; tkill ends it by force");
  const auto members = static_cast<std::uint32_t>(std::ranges::count_if(
      universe->nodes, [](const UniverseNode& node) { return node.state == NodeState::kMember; }));
  if (options.has("v") || options.has("d")) std::printf("%u of %u daemons have ended\n", halted->daemons, members);
  if (halted->daemons >= members) return 0;
  std::fprintf(stderr, "lamhalt: %u of %u daemons have not said that they ended; tkill on their hosts ends them\n",
               members - halted->daemons, members);
  return kExitFailure;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdHh");
  options.add_common();
  return openlapi::daemon::tool_main("lamhalt", openlapi::daemon::kUsage, options, count, words, openlapi::daemon::run);
}
