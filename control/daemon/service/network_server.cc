#include "control/daemon/service/network_server.h"
#include <algorithm>
#include <set>
#include <utility>
#include <variant>

#include "control/base/socket_peer.h"
#include "dataplane/base/random_number.h"

namespace openlapi::daemon {
namespace {

constexpr std::size_t kMostTasks = 2 * kMostTableWindows;  // connections

std::uint64_t random_identity() {
  std::uint64_t number = 0;
  while (number == 0) number = random_number<std::uint64_t>();
  return number;
}

std::uint32_t process_of(int socket) { return static_cast<std::uint32_t>(socket_peer(socket).value_or(ucred{}).pid); }

}  // namespace

NetworkServer::NetworkServer(const UniverseTable& universe, PeerLinks& links, JobServer& jobs, ConnectedTools& tools)
    : universe_(universe),
      jobs_(jobs),
      tables_(universe.here()),
      forwarder_(universe, {.is_linked = [&links](std::uint32_t neighbour) { return links.is_linked(neighbour); },
                            .send = [&links](std::uint32_t neighbour,
                                             const NetworkMessage& message) { links.send(neighbour, message); },
                            .deliver = [this](const NetworkMessage& message) { deliver(message); }}),
      exchange_(universe, tables_,
                {.send = [this](const std::vector<std::uint32_t>& nodes,
                                const NetworkAction& action) { send(nodes, 0, action); },
                 .tell_tasks = [this](const AddressExchange::Id& exchange,
                                      const AddressesMessage& message) { tell_tasks(exchange, message); }}),
      questions_(universe,
                 {.ask = [this](const std::vector<std::uint32_t>& nodes, std::uint32_t number,
                                const NetworkAction& action) { send(nodes, number, action); },
                  .answer = [&tools](std::uint64_t tool, const TablesMessage& message) { tools.answer(tool, message); },
                  .random = random_identity}) {}

void NetworkServer::send(const std::vector<std::uint32_t>& nodes, std::uint32_t number, const NetworkAction& action) {
  forwarder_.forward({universe_.here(), number, nodes, encode_action(action)});
}

void NetworkServer::answer(const NetworkMessage& question, const NodeAnswer& answer) {
  if (question.number != 0) send({question.from}, question.number, answer);
}

void NetworkServer::deliver(const NetworkMessage& message) {
  const auto action = decode_action(message.body);
  if (!action) return;
  if (const auto* load = std::get_if<LoadTable>(&*action)) {
    answer(message, tables_.load(load->table));
  } else if (const auto* unload = std::get_if<UnloadTable>(&*action)) {
    answer(message, tables_.unload(unload->key, unload->identity));
  } else if (const auto* read = std::get_if<ReadTables>(&*action)) {
    answer(message, {"", tables_.states(read->key)});
  } else if (std::holds_alternative<CleanNode>(*action)) {
    cleanings_.push_back(message);
    jobs_.end_jobs();
  } else if (const auto* answered = std::get_if<NodeAnswer>(&*action)) {
    questions_.answered(message.from, message.number, *answered);
  } else if (const auto* given = std::get_if<NodeGives>(&*action)) {
    exchange_.take(message.from, *given);
  } else if (const auto* taken = std::get_if<NodeTakesBack>(&*action)) {
    exchange_.take(message.from, *taken);
  } else if (const auto* over = std::get_if<ExchangeOver>(&*action)) {
    exchange_.take(message.from, *over);
  }
}

void NetworkServer::node_lost(std::uint32_t node) {
  questions_.node_lost(node);
  exchange_.node_lost(node);
}

void NetworkServer::tell_tasks(const AddressExchange::Id& exchange, const AddressesMessage& message) {
  for (Task& task : tasks_) {
    if (task.over || !task.waits || AddressExchange::Id{task.table, task.round} != exchange) continue;
    task.waits = false;
    task.connection.send(message);
  }
}

void NetworkServer::add_task(Connection connection, const OpenWindows& asked) {
  WindowsMessage answer{"this daemon serves " + std::to_string(kMostTasks) + " tasks and no more", 0, {}, {}};
  if (tasks_.size() < kMostTasks) answer = tables_.open(asked, process_of(connection.fd()));
  Task& task = tasks_.emplace_back(Task{std::move(connection)});
  task.connection.send(answer);
  task.connection.flush();
  task.over = !answer.failure.empty();
  if (task.over) return;
  task.table = answer.cookie;
  task.task = asked.task;
  take_messages(task);  // that came with the first
}

bool NetworkServer::take_addresses(Task& task, const MessageBytes& bytes) {
  auto message = decode(bytes);
  auto* given = message ? std::get_if<GiveAddresses>(&*message) : nullptr;
  if (given == nullptr || task.waits || size_of(given->addresses) > kMostTaskBytes) return false;
  for (TaskAddress& address : given->addresses) address.task = task.task;
  task.waits = true;
  exchange_.give({task.table, ++task.round}, task.task, std::move(given->addresses));
  return true;
}

void NetworkServer::take_messages(Task& task) {
  while (!task.over) {
    const auto bytes = task.connection.stream().next();
    if (!bytes) break;
    task.over = !take_addresses(task, *bytes);
  }
}

void NetworkServer::serve_task(Task& task) {
  const bool goes_on = task.connection.serve();
  take_messages(task);
  task.over = task.over || !goes_on;
}

void NetworkServer::watch(PollSet& poll_set) {
  for (Task& task : tasks_) {
    if (task.over) continue;
    poll_set.add(task.connection.fd(), task.connection.events(), [this, &task] { serve_task(task); });
  }
}

void NetworkServer::close_ended_tasks() {
  for (const Task& task : tasks_) {
    if (!task.over || task.table == 0) continue;
    if (task.waits) exchange_.take_back({task.table, task.round}, task.task);
    tables_.close(task.table, task.task);
  }
  std::erase_if(tasks_, [](const Task& task) { return task.over; });
}

void NetworkServer::tick(Time now) {
  close_ended_tasks();
  questions_.tick(now);
  forwarder_.go_on();
}

// Whoever asks for this has no use for the windows, which may be many.
NodeAnswer NetworkServer::unload_all() {
  std::set<std::string> keys;
  for (const WindowState& window : tables_.states("")) keys.insert(window.key);
  std::string failures;
  for (const std::string& key : keys) {
    const NodeAnswer done = tables_.unload(key, 0);
    if (!done.failure.empty()) failures += (failures.empty() ? "job key " : "; job key ") + key + ": " + done.failure;
  }
  return {failures, {}};
}

// A task that has just ended may have held windows.
void NetworkServer::jobs_ended() {
  if (cleanings_.empty()) return;
  for (Task& task : tasks_) {
    if (!task.over) serve_task(task);
  }
  close_ended_tasks();
  const NodeAnswer done = unload_all();
  for (const NetworkMessage& question : std::exchange(cleanings_, {})) answer(question, done);
}

}  // namespace openlapi::daemon
