// lamshrink: removes a node from the universe. Its number is then no node's, until lamgrow gives it to one.
#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "control/daemon/membership/membership.h"
#include "control/daemon/session/tool_client.h"
#include "control/daemon/universe/node_words.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamshrink [options] node\n"
    "  removes a node from the universe and ends its daemon: n3, o (the origin); not the node where lamshrink is run\n"
    "  -w SECONDS  before that, warn: nothing new starts there, and what runs has so long to end (0 to 86400)\n"
    "  -v, -d  say what was removed\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

constexpr std::chrono::seconds kAnswerTime = kJoinTime + std::chrono::seconds(30);
constexpr std::chrono::seconds kEndTime{15};  // for a daemon to say that it ends
constexpr int kLongestGrace = 86400;

int grace_of(const BootOptions& options) {
  options.check_number("w", 0, kLongestGrace);
  int grace = 0;
  if (options.has("w")) ao_intparam(options.get(), "w", 0, 0, &grace);
  return grace;
}

[[noreturn]] void refuse(const std::string& word) {
  throw std::invalid_argument("\"" + word + "\" is not one node; allowed: n and its number, or o");
}

// What is wrong in any universe.
void check_word(const std::string& word) {
  check_node_words({word});
  if (word.starts_with('c') || word.starts_with('C')) refuse(word);
}

std::uint32_t one_node(const std::string& word, const UniverseMessage& universe) {
  const auto chosen = choose_nodes({word}, universe.nodes, universe.here);
  if (chosen.size() != 1) refuse(word);
  return chosen[0].node;
}

// False: the daemon there does not end by itself.
bool ask_to_leave(ToolClient& daemon, std::uint32_t node, int grace, bool force, std::chrono::seconds limit) {
  const auto answer = daemon.ask_within(
      ShrinkMessage{node, static_cast<std::uint32_t>(grace), static_cast<std::uint8_t>(force ? 1 : 0)}, limit);
  if (!answer) return false;
  const auto outcome = ToolClient::expected<OutcomeMessage>(*answer);
  if (!outcome.failure.empty()) throw std::runtime_error(outcome.failure);
  return true;
}

int run(BootOptions& options) {
  options.check_words(1, 1, "node");
  const int grace = grace_of(options);
  const std::string word = options.plain_words()[0];
  check_word(word);
  ToolClient daemon(session_path(options.session_name()));
  daemon.check_alive();
  const auto universe = daemon.ask_for<UniverseMessage>(UniverseRequest{1}, kAnswerTime);
  const std::uint32_t node = one_node(word, universe);
  const std::string name = "n" + std::to_string(node) + " (" + universe.nodes[node].host + ")";
  if (!ask_to_leave(daemon, node, grace, false, std::chrono::seconds(grace) + kEndTime)) {
    ask_to_leave(daemon, node, 0, true, kAnswerTime);
    throw std::runtime_error(name + " is removed, but its daemon has not ended within " +
                             std::to_string(kEndTime.count()) + " s; tkill on its host ends it");
  }
  if (options.has("v") || options.has("d")) std::printf("%s is removed\n", name.c_str());
  return 0;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("vdh");
  options.add_numbers({"w"});
  options.add_common();
  return openlapi::daemon::tool_main("lamshrink", openlapi::daemon::kUsage, options, count, words,
                                     openlapi::daemon::run);
}
