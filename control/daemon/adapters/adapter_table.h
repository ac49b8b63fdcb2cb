// The network availability matrix as one daemon knows it: a row for each node of the universe, with all its adapters.
//
// Only the daemon of a node says what its row is, and says it anew, whole and with a later generation, when anything
// changes; all others pass on what is news to them. So it does not matter in which order, how often and over which
// links a row comes. Rows of nodes that are none, or were another daemon's, are nothing. Passive.
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

  // The adapters here. True: that is news, and own_row() is to be told.
  bool set_own(std::vector<AdapterStatus> adapters);
  // As it is now: a daemon that joins learns only with its first link which stamp it has.
  const NodeAdapters& own_row();
  // What a neighbour says. True: that is news, to be passed on.
  bool apply(const NodeAdapters& row);
  // The universe has another opinion of this node.
  void node_changed(std::uint32_t node);

  const std::map<std::uint32_t, NodeAdapters>& rows() const { return rows_; }
  // Whose address it is; the node here is the last to be named. Nothing: nobody's.
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
