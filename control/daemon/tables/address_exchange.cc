#include "control/daemon/tables/address_exchange.h"

#include <algorithm>
#include <iterator>

namespace openlapi::daemon {
namespace {

void append(const TaskAddresses& from, TaskAddresses& to) { to.insert(to.end(), from.begin(), from.end()); }

std::string lost_text(std::uint32_t node) {
  return "the daemon of n" + std::to_string(node) + " is lost; the tasks have to be started again";
}

}  // namespace

// Null: a daemon that it would rely on is lost already.
AddressExchange::Gathering* AddressExchange::gathering_of(const NetworkTable& table, const Id& exchange,
                                                          std::string& failure) {
  const auto known = gatherings_.find(exchange);
  if (known != gatherings_.end()) return &known->second;
  std::set<std::uint32_t> relies_on;
  for (const std::uint32_t node : nodes_of(table)) {
    const std::vector<std::uint32_t> way = universe_.path(keeper_of(table), node);
    relies_on.insert(way.begin(), way.end());
    if (!way.empty()) continue;
    failure = lost_text(universe_.is_member(node) ? keeper_of(table) : node);
    return nullptr;
  }
  return &gatherings_.emplace(exchange, Gathering{std::move(relies_on)}).first->second;
}

void AddressExchange::give(const Id& exchange, std::uint32_t task, TaskAddresses addresses) {
  const NetworkTable* table = tables_.find(exchange.first);
  std::string failure = "the network table is loaded no more";
  Gathering* gathering = table == nullptr ? nullptr : gathering_of(*table, exchange, failure);
  if (gathering == nullptr) return places_.tell_tasks(exchange, {failure, {}});
  gathering->tasks[task] = std::move(addresses);
  if (gathering->tasks.size() < tables_.tasks_here(*table).size()) return;
  gathering->sent = true;
  NodeGives given{exchange.first, exchange.second, {}};
  for (const auto& [each, its_addresses] : gathering->tasks) append(its_addresses, given.addresses);
  places_.send({keeper_of(*table)}, given);
}

void AddressExchange::take_back(const Id& exchange, std::uint32_t task) {
  const auto found = gatherings_.find(exchange);
  if (found == gatherings_.end() || found->second.tasks.erase(task) == 0) return;
  const NetworkTable* table = tables_.find(exchange.first);
  const bool sent = std::exchange(found->second.sent, false);
  if (found->second.tasks.empty() && found->second.nodes.empty()) gatherings_.erase(found);
  if (sent && table != nullptr) places_.send({keeper_of(*table)}, NodeTakesBack{exchange.first, exchange.second});
}

void AddressExchange::take(std::uint32_t from, const NodeGives& given) {
  const Id exchange{given.table, given.round};
  const NetworkTable* table = tables_.find(given.table);
  if (table == nullptr || keeper_of(*table) != universe_.here()) {
    const std::string why = "the network table is not loaded on n" + std::to_string(universe_.here()) + " any more";
    return places_.send({from}, ExchangeOver{given.table, given.round, why, {}});
  }
  const std::vector<std::uint32_t> nodes = nodes_of(*table);
  if (!std::ranges::binary_search(nodes, from)) return;
  std::string failure;
  Gathering* gathering = gathering_of(*table, exchange, failure);
  if (gathering == nullptr) return fail(*table, exchange, failure);
  gathering->nodes[from] = given.addresses;
  if (gathering->nodes.size() == nodes.size()) finish(*table, exchange);
}

void AddressExchange::take(std::uint32_t from, const NodeTakesBack& taken) {
  const auto found = gatherings_.find({taken.table, taken.round});
  if (found == gatherings_.end()) return;
  found->second.nodes.erase(from);
  if (found->second.tasks.empty() && found->second.nodes.empty()) gatherings_.erase(found);
}

void AddressExchange::finish(const NetworkTable& table, const Id& exchange) {
  ExchangeOver over{exchange.first, exchange.second, "", {}};
  for (const auto& [node, addresses] : gatherings_.at(exchange).nodes) append(addresses, over.addresses);
  if (size_of(over.addresses) > kMostExchangeBytes) {
    return fail(table, exchange,
                "the addresses of all tasks have more than " + std::to_string(kMostExchangeBytes) + " bytes");
  }
  places_.send(nodes_of(table), over);
}

void AddressExchange::fail(const NetworkTable& table, const Id& exchange, const std::string& why) {
  places_.send(nodes_of(table), ExchangeOver{exchange.first, exchange.second, why, {}});
}

// What comes may be about a task that has ended and was started again meanwhile, or not yet.
bool AddressExchange::is_as_given(const Gathering& gathering, const TaskAddresses& all) {
  if (!gathering.sent) return false;
  for (const auto& [task, addresses] : gathering.tasks) {
    TaskAddresses found;
    std::ranges::copy_if(all, std::back_inserter(found),
                         [&, known = task](const TaskAddress& each) { return each.task == known; });
    if (found != addresses) return false;
  }
  return true;
}

void AddressExchange::take(std::uint32_t from, const ExchangeOver& over) {
  const Id exchange{over.table, over.round};
  const NetworkTable* table = tables_.find(over.table);
  const auto found = gatherings_.find(exchange);
  if (table == nullptr || found == gatherings_.end() || from != keeper_of(*table)) return;
  if (!over.failure.empty()) return drop(exchange, over.failure);
  if (!is_as_given(found->second, over.addresses)) {
    return drop(exchange, "a task ended while addresses were exchanged; the tasks have to be started again");
  }
  gatherings_.erase(found);
  places_.tell_tasks(exchange, {"", over.addresses});
}

// The keeper may still hear what was said before: it hears then that this is void.
void AddressExchange::drop(const Id& exchange, const std::string& why) {
  const auto dropped = gatherings_.extract(exchange);
  const NetworkTable* table = tables_.find(exchange.first);
  if (!dropped.empty() && dropped.mapped().sent && table != nullptr && keeper_of(*table) != universe_.here()) {
    places_.send({keeper_of(*table)}, NodeTakesBack{exchange.first, exchange.second});
  }
  places_.tell_tasks(exchange, {why, {}});
}

// The keeper tells the nodes, since those whose way to it is another do not know that they wait in vain; a node whose
// way was cut tells its tasks itself.
void AddressExchange::node_lost(std::uint32_t node) {
  std::vector<Id> failed;
  for (const auto& [exchange, gathering] : gatherings_) {
    if (gathering.relies_on.contains(node)) failed.push_back(exchange);
  }
  for (const Id& exchange : failed) {
    const NetworkTable* table = tables_.find(exchange.first);
    if (table != nullptr && keeper_of(*table) == universe_.here()) {
      fail(*table, exchange, lost_text(node));
    } else {
      drop(exchange, lost_text(node));
    }
  }
}

}  // namespace openlapi::daemon
