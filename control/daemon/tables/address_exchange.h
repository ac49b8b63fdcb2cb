// How the tasks of a network table learn each other's addresses: all give, and when all have given each gets what all
// gave. Passive. The daemon of a node gathers what its tasks give and sends it, once, to the keeper, the daemon of task
// 0's node, which answers all nodes of the table. Nothing is kept afterwards: a job runs on without daemons.
//
// Tasks exchange as often as they open contexts; a task's exchanges are numbered from 1 (round). A task that comes
// waits for the others as long as they take. An exchange relies on the daemons between the keeper and the nodes of the
// table: when one of them is lost before it is over, it fails for all.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/messages/network_message.h"
#include "control/daemon/tables/network_tables.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

class AddressExchange {
 public:
  using Id = std::pair<std::uint64_t, std::uint32_t>;  // the table's identity, and the round
  struct Places {
    std::function<void(const std::vector<std::uint32_t>& nodes, const NetworkAction&)> send;  // here, too
    std::function<void(const Id& exchange, const AddressesMessage&)> tell_tasks;              // those that wait for it
  };
  AddressExchange(const UniverseTable& universe, const NetworkTables& tables, Places places)
      : universe_(universe), tables_(tables), places_(std::move(places)) {}

  // A task here gives its addresses.
  void give(const Id& exchange, std::uint32_t task, TaskAddresses addresses);
  // It has ended, or does not wait any more.
  void take_back(const Id& exchange, std::uint32_t task);

  void take(std::uint32_t from, const NodeGives& given);
  void take(std::uint32_t from, const NodeTakesBack& taken);
  void take(std::uint32_t from, const ExchangeOver& over);

  void node_lost(std::uint32_t node);

 private:
  struct Gathering {
    std::set<std::uint32_t> relies_on{};
    std::map<std::uint32_t, TaskAddresses> tasks{};  // of this node
    bool sent = false;                               // they have gone to the keeper
    std::map<std::uint32_t, TaskAddresses> nodes{};  // where this is the keeper
  };
  Gathering* gathering_of(const NetworkTable& table, const Id& exchange, std::string& failure);
  static bool is_as_given(const Gathering& gathering, const TaskAddresses& all);
  void drop(const Id& exchange, const std::string& why);
  void finish(const NetworkTable& table, const Id& exchange);
  void fail(const NetworkTable& table, const Id& exchange, const std::string& why);
  std::uint32_t keeper_of(const NetworkTable& table) const { return node_of(table, 0); }

  const UniverseTable& universe_;
  const NetworkTables& tables_;
  Places places_;
  std::map<Id, Gathering> gatherings_{};
};

}  // namespace openlapi::daemon
