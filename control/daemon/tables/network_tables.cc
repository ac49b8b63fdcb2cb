#include "control/daemon/tables/network_tables.h"

#include <algorithm>
#include <set>

namespace openlapi::daemon {
namespace {

const std::string& account_of(const TableWindow& window) {
  return window.device.empty() ? window.adapter : window.device;
}

bool is_same_window(const TableWindow& left, const TableWindow& right) {
  return left.window == right.window && account_of(left) == account_of(right);
}

std::string text_of(std::uint32_t window, const std::string& adapter) { return std::to_string(window) + "," + adapter; }

std::string node_text(std::uint32_t node) { return "n" + std::to_string(node); }

std::string table_text(const NetworkTable& table) { return "the network table of MP_PARTITION='" + table.key + "'"; }

// What MP_LAPI_NETWORK of a task may hold.
std::string windows_text(const NetworkTable& table, std::uint32_t task) {
  std::string text;
  for (const TableWindow& window : table.windows) {
    if (window.task == task) text += (text.empty() ? "" : ":") + text_of(window.window, window.adapter);
  }
  return text;
}

const TableWindow* find_window(const NetworkTable& table, std::uint32_t task, const OpenWindows::Window& asked) {
  const auto found = std::ranges::find_if(table.windows, [&](const TableWindow& window) {
    return window.task == task && window.window == asked.window && window.adapter == asked.adapter;
  });
  return found == table.windows.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::uint32_t> nodes_of(const NetworkTable& table) {
  std::set<std::uint32_t> nodes;
  for (const TableWindow& window : table.windows) nodes.insert(window.node);
  return {nodes.begin(), nodes.end()};
}

std::uint32_t node_of(const NetworkTable& table, std::uint32_t task) {
  return std::ranges::find(table.windows, task, &TableWindow::task)->node;
}

const NetworkTable* NetworkTables::find(std::uint64_t identity) const {
  for (const Loaded& loaded : tables_) {
    if (loaded.table.identity == identity) return &loaded.table;
  }
  return nullptr;
}

const NetworkTable* NetworkTables::find(const std::string& key) const {
  for (const Loaded& loaded : tables_) {
    if (loaded.table.key == key) return &loaded.table;
  }
  return nullptr;
}

std::vector<std::uint32_t> NetworkTables::tasks_here(const NetworkTable& table) const {
  std::set<std::uint32_t> tasks;
  for (const TableWindow& window : table.windows) {
    if (is_here(window)) tasks.insert(window.task);
  }
  return {tasks.begin(), tasks.end()};
}

std::size_t NetworkTables::windows_here(const NetworkTable& table) const {
  return static_cast<std::size_t>(
      std::ranges::count_if(table.windows, [this](const TableWindow& window) { return is_here(window); }));
}

// The job key whose table has this window of this node; empty: none.
std::string NetworkTables::owner_of(const TableWindow& window) const {
  for (const Loaded& loaded : tables_) {
    for (const TableWindow& other : loaded.table.windows) {
      if (is_here(other) && is_same_window(other, window)) return loaded.table.key;
    }
  }
  return "";
}

std::string NetworkTables::conflict_of(const NetworkTable& table) const {
  if (find(table.key) != nullptr) return table_text(table) + " is loaded already; lapi_ntbl unload takes it away";
  std::size_t windows = windows_here(table);
  for (const Loaded& loaded : tables_) windows += windows_here(loaded.table);
  if (tables_.size() >= kMostTables || windows > kMostTableWindows) {
    return "a node takes " + std::to_string(kMostTables) + " network tables with " + std::to_string(kMostTableWindows) +
           " windows in all, and no more";
  }
  for (const TableWindow& window : table.windows) {
    if (!is_here(window) || window.window == kAnyWindow) continue;
    const std::string owner = owner_of(window);
    if (owner.empty()) continue;
    return "window " + text_of(window.window, window.adapter) + " belongs to MP_PARTITION='" + owner + "'";
  }
  return "";
}

bool NetworkTables::is_free(const NetworkTable& loading, const TableWindow& window) const {
  return owner_of(window).empty() && std::ranges::none_of(loading.windows, [&](const TableWindow& other) {
           return is_here(other) && is_same_window(other, window);
         });
}

// There are fewer windows than numbers.
void NetworkTables::number_windows(NetworkTable& table) const {
  for (TableWindow& window : table.windows) {
    if (!is_here(window) || window.window != kAnyWindow) continue;
    TableWindow candidate = window;
    candidate.window = 0;
    while (!is_free(table, candidate)) ++candidate.window;
    window.window = candidate.window;
  }
}

void NetworkTables::append_states(const Loaded& loaded, std::vector<WindowState>& states) const {
  for (const TableWindow& window : loaded.table.windows) {
    if (!is_here(window)) continue;
    const auto holder = loaded.holders.find(window.task);
    states.push_back(
        {loaded.table.key, loaded.table.tasks, window, holder == loaded.holders.end() ? 0 : holder->second});
  }
}

NodeAnswer NetworkTables::load(const NetworkTable& table) {
  const std::string conflict = conflict_of(table);
  if (!conflict.empty()) return {conflict, {}};
  Loaded& loaded = tables_.emplace_back(Loaded{table});
  NetworkTable numbered = table;
  loaded.table.windows.clear();  // it is no conflict with itself
  number_windows(numbered);
  loaded.table = std::move(numbered);
  NodeAnswer answer;
  append_states(loaded, answer.windows);
  return answer;
}

NodeAnswer NetworkTables::unload(const std::string& key, std::uint64_t identity) {
  const auto found = std::ranges::find_if(tables_, [&](const Loaded& loaded) {
    return loaded.table.key == key && (identity == 0 || loaded.table.identity == identity);
  });
  if (found == tables_.end()) return {};
  if (identity == 0 && !found->holders.empty()) {
    const auto& [task, process] = *found->holders.begin();
    return {"task " + std::to_string(task) + " is running (process " + std::to_string(process) + ")", {}};
  }
  NodeAnswer answer;
  append_states(*found, answer.windows);
  tables_.erase(found);
  return answer;
}

std::vector<WindowState> NetworkTables::states(const std::string& key) const {
  std::vector<WindowState> states;
  for (const Loaded& loaded : tables_) {
    if (key.empty() || loaded.table.key == key) append_states(loaded, states);
  }
  return states;
}

std::string NetworkTables::refusal(const OpenWindows& asked) const {
  const NetworkTable* table = find(asked.key);
  if (table == nullptr) {
    return "MP_PARTITION='" + asked.key + "': no network table of this job key is loaded on this node, " +
           node_text(here_) + "; lapi_ntbl loads one";
  }
  if (asked.tasks != table->tasks) {
    return "MP_PROCS=" + std::to_string(asked.tasks) + ": " + table_text(*table) + " has " +
           std::to_string(table->tasks) + " tasks";
  }
  if (asked.task >= table->tasks || node_of(*table, asked.task) != here_) {
    return "MP_CHILD=" + std::to_string(asked.task) + ": in " + table_text(*table) +
           " this task is not on this node, " + node_text(here_) +
           (asked.task < table->tasks ? ", but on " + node_text(node_of(*table, asked.task)) : std::string());
  }
  for (const OpenWindows::Window& window : asked.windows) {
    if (find_window(*table, asked.task, window) != nullptr) continue;
    return "MP_LAPI_NETWORK: '" + text_of(window.window, window.adapter) + "' is not reserved for task " +
           std::to_string(asked.task) + "; " + table_text(*table) + " has " + windows_text(*table, asked.task) +
           " for it";
  }
  return asked.windows.empty() ? "MP_LAPI_NETWORK names no window" : "";
}

WindowsMessage NetworkTables::open(const OpenWindows& asked, std::uint32_t process) {
  WindowsMessage answer;
  answer.failure = refusal(asked);
  if (!answer.failure.empty()) return answer;
  const auto loaded =
      std::ranges::find_if(tables_, [&](const Loaded& candidate) { return candidate.table.key == asked.key; });
  const auto [holder, opened] = loaded->holders.try_emplace(asked.task, process);
  if (!opened) {
    answer.failure = "MP_LAPI_NETWORK: the windows of task " + std::to_string(asked.task) + " are in use by process " +
                     std::to_string(holder->second);
    return answer;
  }
  answer.cookie = loaded->table.identity;
  answer.local_tasks = tasks_here(loaded->table);
  for (const OpenWindows::Window& window : asked.windows) {
    answer.devices.push_back(find_window(loaded->table, asked.task, window)->device);
  }
  return answer;
}

void NetworkTables::close(std::uint64_t identity, std::uint32_t task) {
  for (Loaded& loaded : tables_) {
    if (loaded.table.identity == identity) loaded.holders.erase(task);
  }
}

}  // namespace openlapi::daemon
