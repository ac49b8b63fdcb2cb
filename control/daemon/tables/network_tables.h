// The network tables of a node: which windows of its adapters belong to which tasks of which jobs, and which process
// holds them. Passive. Windows are those of devices: two adapter names of one device share them.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <vector>

#include "control/daemon/messages/network_message.h"

namespace openlapi::daemon {

class NetworkTables {
 public:
  explicit NetworkTables(std::uint32_t here) : here_(here) {}

  // The answer has the windows of tasks here as they were loaded; those that could be any (kAnyWindow) have a number.
  NodeAnswer load(const NetworkTable& table);
  // The answer has the windows that were here. Refused while a process holds one, unless `identity` names the table.
  NodeAnswer unload(const std::string& key, std::uint64_t identity);
  // The windows of this job key; empty: of all.
  std::vector<WindowState> states(const std::string& key) const;

  // The windows are the process's from now on, unless the answer says why not.
  WindowsMessage open(const OpenWindows& asked, std::uint32_t process);
  void close(std::uint64_t identity, std::uint32_t task);

  const NetworkTable* find(std::uint64_t identity) const;
  const NetworkTable* find(const std::string& key) const;
  // Ascending.
  std::vector<std::uint32_t> tasks_here(const NetworkTable& table) const;

 private:
  struct Loaded {
    NetworkTable table{};
    std::map<std::uint32_t, std::uint32_t> holders{};  // by task: the process
  };
  bool is_here(const TableWindow& window) const { return window.node == here_; }
  std::string owner_of(const TableWindow& window) const;
  std::string conflict_of(const NetworkTable& table) const;
  bool is_free(const NetworkTable& loading, const TableWindow& window) const;
  void number_windows(NetworkTable& table) const;
  void append_states(const Loaded& loaded, std::vector<WindowState>& states) const;
  std::size_t windows_here(const NetworkTable& table) const;
  std::string refusal(const OpenWindows& asked) const;

  std::uint32_t here_;
  std::list<Loaded> tables_{};
};

std::vector<std::uint32_t> nodes_of(const NetworkTable& table);  // ascending
std::uint32_t node_of(const NetworkTable& table, std::uint32_t task);

}  // namespace openlapi::daemon
