#include "control/tools/matrix_text.h"

#include <arpa/inet.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

namespace openlapi::daemon {
namespace {

using Json = nlohmann::ordered_json;

constexpr char kNoNetwork[] = "-";

std::string text_of(const MessageBytes& address) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(address.size() == 4 ? AF_INET : AF_INET6, address.data(), text, sizeof text);
  return text;
}

std::string text_of(const AdapterAddress& address) {
  return text_of(address.bytes) + "/" + std::to_string(address.prefix);
}

std::string network_of(const AdapterAddress& address) {
  AdapterAddress network = address;
  for (std::size_t n = 0; n < network.bytes.size(); ++n) {
    const int kept = std::clamp(static_cast<int>(address.prefix) - static_cast<int>(8 * n), 0, 8);
    network.bytes[n] = static_cast<std::uint8_t>(network.bytes[n] & (0xff00 >> kept));
  }
  return text_of(network);
}

// The one by which it is shown: IPv4, if it has one.
const AdapterAddress* main_address(const AdapterStatus& adapter) {
  const auto ipv4 =
      std::ranges::find_if(adapter.addresses, [](const AdapterAddress& address) { return address.bytes.size() == 4; });
  if (ipv4 != adapter.addresses.end()) return &*ipv4;
  return adapter.addresses.empty() ? nullptr : &adapter.addresses.front();
}

const char* reason_of(const AdapterStatus& adapter) {
  switch (adapter.cause) {
    case AdapterCause::kNoCarrier:
      return "no carrier";
    case AdapterCause::kTakenDown:
      return "taken down";
    case AdapterCause::kNoAddress:
      return "no address";
    case AdapterCause::kRemoved:
      return "removed";
    case AdapterCause::kPortDown:
      return "port not active";
    case AdapterCause::kUnreachable:
      return "nobody answers";
    default:
      return "";
  }
}

std::string speed_text(std::uint32_t megabits) {
  if (megabits == 0) return "";
  if (megabits % 1000 != 0) return ", " + std::to_string(megabits) + " Mbit/s";
  return ", " + std::to_string(megabits / 1000) + " Gbit/s";
}

using BreakDown = std::tm*(const std::time_t*, std::tm*);  // localtime_r or gmtime_r

// Milliseconds since 1970; the format's last part are the seconds.
std::string formatted(std::uint64_t milliseconds, BreakDown* break_down, const char* format) {
  const auto seconds = static_cast<std::time_t>(milliseconds / 1000);
  std::tm parts{};
  break_down(&seconds, &parts);
  char text[64] = "";
  std::strftime(text, sizeof text, format, &parts);
  return text + ("." + std::to_string(1000 + milliseconds % 1000).substr(1));
}

std::string time_text(std::uint64_t milliseconds) { return formatted(milliseconds, localtime_r, "%Y-%m-%d %H:%M:%S"); }

std::string utc_text(std::uint64_t milliseconds) {
  return formatted(milliseconds, gmtime_r, "%Y-%m-%dT%H:%M:%S") + "Z";
}

std::string node_name(const Matrix& matrix, std::uint32_t node) {
  if (node >= matrix.universe.nodes.size()) return "n" + std::to_string(node);
  return name_of(node, matrix.universe.nodes);
}

// "eth0 (10.0.0.1/24, 10 Gbit/s)"
std::string adapter_text(const AdapterStatus& adapter) {
  const AdapterAddress* address = main_address(adapter);
  const std::string about = (address != nullptr ? text_of(*address) : "no address") + speed_text(adapter.speed);
  return adapter.name + " (" + about + ")";
}

std::vector<std::uint32_t> lost_nodes(const Matrix& matrix) {
  std::vector<std::uint32_t> lost;
  for (std::uint32_t node = 0; node < matrix.universe.nodes.size(); ++node) {
    if (matrix.universe.nodes[node].state == NodeState::kLost) lost.push_back(node);
  }
  return lost;
}

// A daemon that lives may not have told of its adapters yet, or not hear of them itself.
std::set<std::uint32_t> unknown_nodes(const Matrix& matrix) {
  std::set<std::uint32_t> unknown;
  for (std::uint32_t node = 0; node < matrix.universe.nodes.size(); ++node) {
    if (matrix.universe.nodes[node].lives()) unknown.insert(node);
  }
  for (const NodeAdapters& row : matrix.rows) {
    if (row.generation != 0) unknown.erase(row.node);
  }
  return unknown;
}

struct Grid {
  std::vector<std::string> networks{};                                  // of the columns
  std::map<std::uint32_t, std::map<std::string, std::string>> cells{};  // by node and network
};

Grid grid_of(const Matrix& matrix) {
  Grid grid;
  std::set<std::string> networks;
  for (const NodeAdapters& row : matrix.rows) {
    auto& cells = grid.cells[row.node];
    for (const AdapterStatus& adapter : row.adapters) {
      const AdapterAddress* address = main_address(adapter);
      const std::string network = address != nullptr ? network_of(*address) : kNoNetwork;
      networks.insert(network);
      std::string& cell = cells[network];
      cell += (cell.empty() ? "" : ", ") + adapter.name + (adapter.is_up() ? "" : " DOWN");
    }
  }
  grid.networks.assign(networks.begin(), networks.end());
  for (const std::uint32_t node : unknown_nodes(matrix)) {
    auto& cells = grid.cells[node];
    for (const std::string& network : grid.networks) cells[network] = "?";
  }
  return grid;
}

// The words of a line below each other; the last one is as long as it is.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<std::size_t> widths;
  for (const auto& line : lines) {
    widths.resize(std::max(widths.size(), line.size()));
    for (std::size_t n = 0; n < line.size(); ++n) widths[n] = std::max(widths[n], line[n].size());
  }
  std::string text;
  for (const auto& line : lines) {
    std::string shown;
    for (std::size_t n = 0; n < line.size(); ++n) shown += line[n] + std::string(widths[n] + 2 - line[n].size(), ' ');
    shown.erase(shown.find_last_not_of(' ') + 1);
    text += shown + "\n";
  }
  return text;
}

Json adapter_json(const AdapterStatus& adapter) {
  Json json{{"name", adapter.name},
            {"kind", adapter.kind == AdapterKind::kPort ? "rdma" : "interface"},
            {"state", adapter.is_up() ? "up" : "down"}};
  json["reason"] = adapter.is_up() ? Json(nullptr) : Json(reason_of(adapter));
  json["since"] = utc_text(adapter.since);
  json["speed_mbit"] = adapter.speed != 0 ? Json(adapter.speed) : Json(nullptr);
  json["addresses"] = Json::array();
  json["networks"] = Json::array();
  for (const AdapterAddress& address : adapter.addresses) {
    json["addresses"].push_back(text_of(address));
    json["networks"].push_back(network_of(address));
  }
  return json;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"; }

}  // namespace

bool is_all_up(const Matrix& matrix) {
  if (!lost_nodes(matrix).empty() || !unknown_nodes(matrix).empty()) return false;
  return std::ranges::all_of(matrix.rows, [](const NodeAdapters& row) {
    return std::ranges::all_of(row.adapters, [](const AdapterStatus& adapter) { return adapter.is_up(); });
  });
}

std::string table_of(const Matrix& matrix) {
  const Grid grid = grid_of(matrix);
  std::vector<std::vector<std::string>> lines{{"node"}};
  lines[0].insert(lines[0].end(), grid.networks.begin(), grid.networks.end());
  for (const auto& [node, cells] : grid.cells) {
    auto& line = lines.emplace_back(std::vector{node_name(matrix, node)});
    for (const std::string& network : grid.networks) line.push_back(cells.contains(network) ? cells.at(network) : "");
  }
  std::string text = aligned(lines);
  for (const NodeAdapters& row : matrix.rows) {
    for (const AdapterStatus& adapter : row.adapters) {
      if (adapter.is_up()) continue;
      text += node_name(matrix, row.node) + ": " + adapter_text(adapter) + " is down since " +
              time_text(adapter.since) + ": " + reason_of(adapter) + "\n";
    }
  }
  for (const std::uint32_t node : lost_nodes(matrix)) text += node_name(matrix, node) + ": its daemon is lost\n";
  for (const std::uint32_t node : unknown_nodes(matrix)) {
    text += node_name(matrix, node) + ": unknown: its daemon has not told of its adapters\n";
  }
  return text;
}

std::string history_of(const Matrix& matrix, std::uint64_t known) {
  std::string text;
  for (const AdapterChange& change : matrix.changes) {
    if (change.number <= known) continue;
    text += time_text(change.heard) + "  " + node_name(matrix, change.node) + ": " + adapter_text(change.adapter) +
            (change.adapter.is_up() ? " is up" : " is down: " + std::string(reason_of(change.adapter))) + "\n";
  }
  return text;
}

std::string json_of(const Matrix& matrix) {
  Json nodes = Json::array();
  std::map<std::uint32_t, Json> adapters;
  for (const NodeAdapters& row : matrix.rows) {
    Json& list = adapters[row.node] = Json::array();
    for (const AdapterStatus& adapter : row.adapters) list.push_back(adapter_json(adapter));
  }
  const std::set<std::uint32_t> unknown = unknown_nodes(matrix);
  for (std::uint32_t number = 0; number < matrix.universe.nodes.size(); ++number) {
    const UniverseNode& node = matrix.universe.nodes[number];
    if (!node.lives() && node.state != NodeState::kLost) continue;
    const auto found = adapters.find(number);
    nodes.push_back({{"node", number},
                     {"host", node.host},
                     {"state", unknown.contains(number) ? "unknown"
                               : node.lives()           ? "member"
                                                        : "lost"},
                     {"adapters", found != adapters.end() ? found->second : Json::array()}});
  }
  return line_of({{"here", matrix.universe.here}, {"all_up", is_all_up(matrix)}, {"nodes", nodes}});
}

std::string json_history_of(const Matrix& matrix, std::uint64_t known) {
  std::string text;
  for (const AdapterChange& change : matrix.changes) {
    if (change.number <= known) continue;
    const bool has_name = change.node < matrix.universe.nodes.size();
    text += line_of({{"heard", utc_text(change.heard)},
                     {"node", change.node},
                     {"host", has_name ? matrix.universe.nodes[change.node].host : ""},
                     {"adapter", adapter_json(change.adapter)}});
  }
  return text;
}

}  // namespace openlapi::daemon
