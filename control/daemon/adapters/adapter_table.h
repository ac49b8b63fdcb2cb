// The network availability matrix as one daemon knows it: a row for each node of the universe, with all its adapters.
//
// Only a node's own daemon writes its row. When anything changes it sends the whole row again with a later generation,
// and the others pass on what is new to them. So it does not matter in which order, how often or over which links a row
// arrives. Rows of nodes that do not exist, or of a node's earlier daemon, are ignored. Passive.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "control/daemon/messages/adapter_message.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

class AdapterTable {
 public:
  // `clock`: milliseconds since 1970.
  AdapterTable(const UniverseTable& universe, std::function<std::uint64_t()> clock)
      : universe_(universe), clock_(std::move(clock)) {}

  // The adapters of this node. True: something has changed, and own_row() has to be sent to the others.
  bool set_own(std::vector<AdapterStatus> adapters);
  // With the present stamp, which a daemon that joins learns only with its first link.
  const NodeAdapters& own_row();
  // A row that a neighbour has sent. True: it is new here, and has to be passed on.
  bool apply(const NodeAdapters& row);
  // The node has another state in the universe now.
  void node_changed(std::uint32_t node);

  const std::map<std::uint32_t, NodeAdapters>& rows() const { return rows_; }
  // The node that has this address; this node only if no other one has it. Nothing: none has.
  std::optional<std::uint32_t> node_of(const MessageBytes& address) const;
  const std::deque<AdapterChange>& changes() const { return changes_; }
  // Grows with each change; from 1 on.
  std::uint64_t version() const { return version_; }

 private:
  void remember(const NodeAdapters& before, const NodeAdapters& after);

  const UniverseTable& universe_;
  const std::function<std::uint64_t()> clock_;
  std::map<std::uint32_t, NodeAdapters> rows_{};
  std::deque<AdapterChange> changes_{};
  std::uint64_t heard_ = 0;  // changes
  std::uint64_t version_ = 1;
};

}  // namespace openlapi::daemon
