// Network tables of user space jobs that no launcher starts (the guide's chapter 16), and what is said about them.
//
// A table belongs to a job key (MP_PARTITION). It says for each task of the job on which node it runs and which windows
// of which adapters it has there. A window is a number by which the daemon of a node keeps account of who may open an
// adapter: it belongs to one task of one table, and one process at a time holds it.
//
//   from a tool       LoadRequest, UnloadRequest, TablesRequest, CleanRequest; each answered by TablesMessage
//   from a task       OpenWindows, answered by WindowsMessage; the windows are the task's until its connection ends.
//                     Then GiveAddresses, any number of times, each answered by Addresses when all tasks have given
//   between daemons   Network: an action (NetworkAction) for some nodes, passed on along the tree
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::daemon {

// More is refused, whoever asks, so that a daemon's memory is bounded.
inline constexpr std::size_t kMostTables = 64;          // on a node
inline constexpr std::size_t kMostTableWindows = 4096;  // of a table
inline constexpr std::size_t kLongestJobKey = 255;
inline constexpr std::size_t kLongestAdapter = 63;
inline constexpr std::size_t kLongestDevice = 255;
inline constexpr std::size_t kMostTaskBytes = 4096;         // of a task's addresses in one exchange, with their keys
inline constexpr std::size_t kMostExchangeBytes = 3 << 20;  // of all
inline constexpr std::uint32_t kLastWindow = 65535;
inline constexpr std::uint32_t kAnyWindow = ~std::uint32_t{0};  // in a table that is loaded: a free one

struct TableWindow {
  std::uint32_t task = 0;
  std::uint32_t node = 0;
  std::uint32_t window = 0;
  std::string adapter{};  // as in MP_LAPI_NETWORK
  std::string device{};   // as in MP_EUIDEVICE; empty: what the adapter's name means
  bool operator==(const TableWindow&) const = default;
};

inline constexpr std::size_t kLeastWindowBytes = 20;
void describe_window(auto& fields, auto& window) {
  fields.number(window.task);
  fields.number(window.node);
  fields.number(window.window);
  fields.text(window.adapter);
  fields.text(window.device);
}

struct NetworkTable {
  std::string key{};
  std::uint64_t identity = 0;  // random: the job's cookie, and which of several loads of a key this is
  std::uint32_t tasks = 0;
  std::vector<TableWindow> windows{};
  bool operator==(const NetworkTable&) const = default;
};

void describe_table(auto& fields, auto& table) {
  fields.text(table.key);
  fields.wide(table.identity);
  fields.number(table.tasks);
  fields.list(table.windows, kLeastWindowBytes, [](auto& element, auto& window) { describe_window(element, window); });
}

// A window as the daemon of its node knows it.
struct WindowState {
  std::string key{};
  std::uint32_t tasks = 0;  // of the job
  TableWindow window{};
  std::uint32_t process = 0;  // that holds it; 0: none
  bool operator==(const WindowState&) const = default;
};

inline constexpr std::size_t kLeastStateBytes = 12 + kLeastWindowBytes;
void describe_state(auto& fields, auto& state) {
  fields.text(state.key);
  fields.number(state.tasks);
  describe_window(fields, state.window);
  fields.number(state.process);
}

// What a task has put under a key.
struct TaskAddress {
  std::uint32_t task = 0;
  std::string key{};
  MessageBytes value{};
  bool operator==(const TaskAddress&) const = default;
};
using TaskAddresses = std::vector<TaskAddress>;

void describe_addresses(auto& fields, auto& addresses) {
  fields.list(addresses, 12, [](auto& element, auto& address) {
    element.number(address.task);
    element.text(address.key);
    element.bytes(address.value);
  });
}
std::size_t size_of(const TaskAddresses& addresses);

struct LoadRequest {
  static constexpr std::uint8_t kKind = 32;
  NetworkTable table{};  // identity: not read
  static void describe(auto& fields, auto& message) { describe_table(fields, message.table); }
  bool operator==(const LoadRequest&) const = default;
};

struct UnloadRequest {
  static constexpr std::uint8_t kKind = 33;
  std::string key{};
  static void describe(auto& fields, auto& message) { fields.text(message.key); }
  bool operator==(const UnloadRequest&) const = default;
};

struct TablesRequest {
  static constexpr std::uint8_t kKind = 34;
  std::string key{};  // empty: all
  static void describe(auto& fields, auto& message) { fields.text(message.key); }
  bool operator==(const TablesRequest&) const = default;
};

// The windows that were loaded, unloaded, or are there.
struct TablesMessage {
  static constexpr std::uint8_t kKind = 35;
  std::string failure{};  // empty: none
  std::vector<WindowState> windows{};
  static void describe(auto& fields, auto& message) {
    fields.text(message.failure);
    fields.list(message.windows, kLeastStateBytes, [](auto& element, auto& state) { describe_state(element, state); });
  }
  bool operator==(const TablesMessage&) const = default;
};

// The first message of a task: MP_PARTITION, MP_CHILD, MP_PROCS, MP_LAPI_NETWORK.
struct OpenWindows {
  struct Window {
    std::uint32_t window = 0;
    std::string adapter{};
    bool operator==(const Window&) const = default;
  };
  static constexpr std::uint8_t kKind = 36;
  std::string key{};
  std::uint32_t task = 0;
  std::uint32_t tasks = 0;
  std::vector<Window> windows{};
  static void describe(auto& fields, auto& message) {
    fields.text(message.key);
    fields.number(message.task);
    fields.number(message.tasks);
    fields.list(message.windows, 8, [](auto& element, auto& window) {
      element.number(window.window);
      element.text(window.adapter);
    });
  }
  bool operator==(const OpenWindows&) const = default;
};

struct WindowsMessage {
  static constexpr std::uint8_t kKind = 37;
  std::string failure{};  // empty: the windows are the task's
  std::uint64_t cookie = 0;
  std::vector<std::string> devices{};        // one for each window that was asked for; empty: the adapter's name
  std::vector<std::uint32_t> local_tasks{};  // of this node, ascending
  static void describe(auto& fields, auto& message) {
    fields.text(message.failure);
    fields.wide(message.cookie);
    fields.list(message.devices, 4, [](auto& element, auto& device) { element.text(device); });
    fields.list(message.local_tasks, 4, [](auto& element, auto& task) { element.number(task); });
  }
  bool operator==(const WindowsMessage&) const = default;
};

struct GiveAddresses {
  static constexpr std::uint8_t kKind = 38;
  TaskAddresses addresses{};  // of this task; since it gave last
  static void describe(auto& fields, auto& message) { describe_addresses(fields, message.addresses); }
  bool operator==(const GiveAddresses&) const = default;
};

struct AddressesMessage {
  static constexpr std::uint8_t kKind = 39;
  std::string failure{};
  TaskAddresses addresses{};  // of all tasks
  static void describe(auto& fields, auto& message) {
    fields.text(message.failure);
    describe_addresses(fields, message.addresses);
  }
  bool operator==(const AddressesMessage&) const = default;
};

// Of lamclean: all jobs of the universe are to end, and tables whose windows nobody uses to go. Answered by
// TablesMessage, without windows.
struct CleanRequest {
  static constexpr std::uint8_t kKind = 41;
  static void describe(auto&, auto&) {}
  bool operator==(const CleanRequest&) const = default;
};

// To the daemons of some nodes.
struct NetworkMessage {
  static constexpr std::uint8_t kKind = 40;
  std::uint32_t from = 0;
  std::uint32_t number = 0;         // of the question that this is, or is the answer to
  std::vector<std::uint32_t> to{};  // nodes
  MessageBytes body{};              // a NetworkAction
  static void describe(auto& fields, auto& message) {
    fields.number(message.from);
    fields.number(message.number);
    fields.list(message.to, 4, [](auto& element, auto& node) { element.number(node); });
    fields.bytes(message.body);
  }
  // What tree_forwarder.h needs.
  const std::vector<std::uint32_t>& goals() const { return to; }
  NetworkMessage for_goals(std::vector<std::uint32_t> goals) const { return {from, number, std::move(goals), body}; }
  bool keeps_order_with(const NetworkMessage& other) const { return from == other.from; }
  bool operator==(const NetworkMessage&) const = default;
};

// Questions to nodes, answered by NodeAnswer: about the windows there.
struct LoadTable {
  static constexpr std::uint8_t kKind = 1;
  NetworkTable table{};
  static void describe(auto& fields, auto& message) { describe_table(fields, message.table); }
  bool operator==(const LoadTable&) const = default;
};

struct UnloadTable {
  static constexpr std::uint8_t kKind = 2;
  std::string key{};
  std::uint64_t identity = 0;  // 0: whichever; else no other than this, used or not
  static void describe(auto& fields, auto& message) {
    fields.text(message.key);
    fields.wide(message.identity);
  }
  bool operator==(const UnloadTable&) const = default;
};

struct ReadTables {
  static constexpr std::uint8_t kKind = 3;
  std::string key{};
  static void describe(auto& fields, auto& message) { fields.text(message.key); }
  bool operator==(const ReadTables&) const = default;
};

struct NodeAnswer {
  static constexpr std::uint8_t kKind = 4;
  std::string failure{};
  std::vector<WindowState> windows{};
  static void describe(auto& fields, auto& message) {
    fields.text(message.failure);
    fields.list(message.windows, kLeastStateBytes, [](auto& element, auto& state) { describe_state(element, state); });
  }
  bool operator==(const NodeAnswer&) const = default;
};

// To the keeper of an exchange: all tasks of this node have given.
struct NodeGives {
  static constexpr std::uint8_t kKind = 5;
  std::uint64_t table = 0;  // identity
  std::uint32_t round = 0;
  TaskAddresses addresses{};
  static void describe(auto& fields, auto& message) {
    fields.wide(message.table);
    fields.number(message.round);
    describe_addresses(fields, message.addresses);
  }
  bool operator==(const NodeGives&) const = default;
};

// One of them has ended before the exchange was over.
struct NodeTakesBack {
  static constexpr std::uint8_t kKind = 6;
  std::uint64_t table = 0;
  std::uint32_t round = 0;
  static void describe(auto& fields, auto& message) {
    fields.wide(message.table);
    fields.number(message.round);
  }
  bool operator==(const NodeTakesBack&) const = default;
};

// From the keeper to all nodes of the table.
struct ExchangeOver {
  static constexpr std::uint8_t kKind = 7;
  std::uint64_t table = 0;
  std::uint32_t round = 0;
  std::string failure{};
  TaskAddresses addresses{};
  static void describe(auto& fields, auto& message) {
    fields.wide(message.table);
    fields.number(message.round);
    fields.text(message.failure);
    describe_addresses(fields, message.addresses);
  }
  bool operator==(const ExchangeOver&) const = default;
};

// A question, too: answered when the jobs' processes there have ended.
struct CleanNode {
  static constexpr std::uint8_t kKind = 8;
  static void describe(auto&, auto&) {}
  bool operator==(const CleanNode&) const = default;
};

using NetworkAction =
    std::variant<LoadTable, UnloadTable, ReadTables, NodeAnswer, NodeGives, NodeTakesBack, ExchangeOver, CleanNode>;

MessageBytes encode_action(const NetworkAction& action);
// Nothing: it makes no sense.
std::optional<NetworkAction> decode_action(std::span<const std::uint8_t> bytes);

// Empty: a table that may be loaded; else what is wrong with it.
std::string mistake_in(const NetworkTable& table);

}  // namespace openlapi::daemon
