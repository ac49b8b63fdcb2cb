#include "control/daemon/adapters/adapter_table.h"

#include <algorithm>
#include <utility>

namespace openlapi::daemon {
namespace {

// Whether somebody who reads the history is to hear of it. An adapter that is down loses some of its addresses.
bool is_news(const AdapterStatus& before, const AdapterStatus& now) {
  return before.cause != now.cause || (now.is_up() && before.addresses != now.addresses);
}

}  // namespace

bool AdapterTable::set_own(std::vector<AdapterStatus> adapters) {
  NodeAdapters& own = rows_[universe_.here()];
  own.node = universe_.here();
  if (own.generation > 0 && own.adapters == adapters) return false;
  const NodeAdapters before = own;
  own.adapters = std::move(adapters);
  ++own.generation;
  ++version_;
  remember(before, own);
  return true;
}

const NodeAdapters& AdapterTable::own_row() {
  NodeAdapters& own = rows_[universe_.here()];
  own.node = universe_.here();
  own.stamp = universe_.nodes()[universe_.here()].stamp;
  return own;
}

bool AdapterTable::apply(const NodeAdapters& row) {
  if (row.node == universe_.here() || !universe_.is_member(row.node) || !is_possible(row)) return false;
  if (row.stamp != universe_.nodes()[row.node].stamp || row.generation == 0) return false;
  NodeAdapters& known = rows_[row.node];
  if (known.stamp == row.stamp && known.generation >= row.generation) return false;
  remember(known, row);
  known = row;
  ++version_;
  return true;
}

void AdapterTable::node_changed(std::uint32_t node) {
  const auto found = rows_.find(node);
  if (node == universe_.here() || found == rows_.end()) return;
  if (universe_.is_member(node) && universe_.nodes()[node].stamp == found->second.stamp) return;
  rows_.erase(found);
  ++version_;
}

std::optional<std::uint32_t> AdapterTable::node_of(const MessageBytes& address) const {
  std::optional<std::uint32_t> found;
  for (const auto& [node, row] : rows_) {
    const bool has = std::ranges::any_of(row.adapters, [&](const AdapterStatus& adapter) {
      return std::ranges::find(adapter.addresses, address, &AdapterAddress::bytes) != adapter.addresses.end();
    });
    if (has && (!found || *found == universe_.here())) found = node;
  }
  return found;
}

// What a node has at first has not changed.
void AdapterTable::remember(const NodeAdapters& before, const NodeAdapters& after) {
  if (before.generation == 0 || before.stamp != after.stamp) return;
  for (const AdapterStatus& adapter : after.adapters) {
    const auto known = std::ranges::find(before.adapters, adapter.name, &AdapterStatus::name);
    if (known != before.adapters.end() && !is_news(*known, adapter)) continue;
    changes_.push_back({++heard_, after.node, adapter, clock_()});
    if (changes_.size() > kMostChanges) changes_.pop_front();
  }
}

}  // namespace openlapi::daemon
