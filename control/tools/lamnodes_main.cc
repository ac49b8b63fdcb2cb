// lamnodes: prints the nodes of the universe.
#include <cstdio>
#include <stdexcept>

#include "control/base/sockets.h"
#include "control/boot/include/lamnet.h"
#include "control/daemon/session/tool_client.h"
#include "control/daemon/universe/node_words.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lamnodes [options] [nodes...]\n"
    "  prints the nodes of the universe, one a line: number, host:processors:flags. Flags: origin, this_node,\n"
    "  no_schedule, leaving (lamshrink removes it), lost (its daemon is gone)\n"
    "  nodes: n0-3,7 or N (all, the default), c0-3,7 or C (by processors), h (here), o (the origin)\n"
    "  -c  no processors and flags    -n  no numbers    -i  addresses instead of names\n"
    "  -c -n: of c0-3,7 or C a line for each processor, as a boot schema has them\n"
    "  -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n";

std::string flags_of(const UniverseNode& node, bool here) {
  std::string flags;
  const auto add = [&](bool is_there, const char* name) {
    if (is_there) flags += (flags.empty() ? "" : ",") + std::string(name);
  };
  add((node.type & NT_ORIGIN) != 0, "origin");
  add(here, "this_node");
  add((node.type & NT_WASTE) != 0, "no_schedule");
  add(node.state == NodeState::kLeaving, "leaving");
  add(node.state == NodeState::kLost, "lost");
  return flags;
}

std::string host_of(const UniverseNode& node, bool as_address) {
  if (!as_address && !node.host.empty()) return node.host;
  return address_text(in_addr{htonl(node.address)});
}

struct Lines {
  NodeChoice choice{};
  std::uint32_t count = 1;  // as LAM, one for each processor where neither numbers nor processors are told
};

void print_node(const UniverseMessage& universe, const Lines& lines, const BootOptions& options) {
  const NodeChoice& choice = lines.choice;
  const UniverseNode& node = universe.nodes[choice.node];
  std::string line = options.has("n") ? "" : "n" + std::to_string(choice.node) + "\t";
  line += host_of(node, options.has("i"));
  if (!options.has("c")) {
    line += ":" + std::to_string(choice.cpus) + ":" + flags_of(node, choice.node == universe.here);
  }
  for (std::uint32_t n = 0; n < lines.count; ++n) std::puts(line.c_str());
}

int run(BootOptions& options) {
  std::vector<std::string> words = options.plain_words();
  if (words.empty()) words = {"N"};
  check_node_words(words);
  ToolClient daemon(session_path(options.session_name()));
  const auto universe = daemon.ask_here<UniverseMessage>(UniverseRequest{0});
  std::vector<Lines> all;
  for (const std::string& word : words) {
    const bool each = options.has("c") && options.has("n") && (word.starts_with('c') || word == "C");
    for (const NodeChoice& choice : choose_nodes({word}, universe.nodes, universe.here)) {
      all.push_back({choice, each ? choice.cpus : 1});
    }
  }
  for (const Lines& lines : all) print_node(universe, lines, options);
  return std::fflush(stdout) == 0 ? 0 : kExitFailure;
}

}  // namespace
}  // namespace openlapi::daemon

int main(int count, char** words) {
  openlapi::daemon::BootOptions options;
  options.add_flags("cnih");
  options.add_common();
  return openlapi::daemon::tool_main("lamnodes", openlapi::daemon::kUsage, options, count, words,
                                     openlapi::daemon::run);
}
