#include "control/daemon/adapters/row_news.h"

namespace openlapi::daemon {
namespace {

constexpr std::size_t kMessageBytes = 32 << 10;  // about: a socket has room for it, also where nobody reads

}  // namespace

void RowNews::linked(std::uint32_t neighbour) {
  Neighbour& all = neighbours_[neighbour] = {};
  for (const auto& [node, row] : table_.rows()) all.nodes.insert(node);
  tell(neighbour, all);
}

void RowNews::changed(const std::vector<std::uint32_t>& nodes, std::optional<std::uint32_t> except) {
  for (auto& [number, neighbour] : neighbours_) {
    if (number == except) continue;
    neighbour.nodes.insert(nodes.begin(), nodes.end());
    tell(number, neighbour);
  }
}

void RowNews::taken(std::uint32_t neighbour) {
  const auto found = neighbours_.find(neighbour);
  if (found == neighbours_.end()) return;
  found->second.takes = false;
  tell(neighbour, found->second);
}

void RowNews::tell(std::uint32_t number, Neighbour& neighbour) {
  if (neighbour.takes) return;
  AdaptersMessage message;
  for (std::size_t bytes = 0; bytes < kMessageBytes && !neighbour.nodes.empty();) {
    const auto row = table_.rows().find(neighbour.nodes.extract(neighbour.nodes.begin()).value());
    if (row == table_.rows().end()) continue;
    message.rows.push_back(row->second);
    bytes += size_of(row->second);
  }
  if (message.rows.empty()) return;
  neighbour.takes = true;
  send_(number, message);
}

}  // namespace openlapi::daemon
