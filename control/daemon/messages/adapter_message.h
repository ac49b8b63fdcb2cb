// The network availability matrix: the adapters of all nodes, and whether each can be used.
//
//   between daemons   Adapters    rows of the matrix, each with all adapters of a node; to all, when one changes
//                     AdaptersTaken, which answers it: more may come
//                     Doubt       about an adapter of a node: nothing comes through; to its daemon, which tries it out
//   from a tool       MatrixRequest, answered by Matrix, at once or when something has changed
//   from a task       FollowAdapters, answered by AdaptersChanged, which comes again whenever the page has changed
//                     (control/base/adapter_page.h)
//                     PathReport: nothing comes through between two addresses
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::daemon {

// More is refused, whoever says it, so that a daemon's memory is bounded.
inline constexpr std::size_t kMostAdapters = 64;         // of a node
inline constexpr std::size_t kMostAdapterAddresses = 8;  // of an adapter
inline constexpr std::size_t kLongestAdapterName = 63;
inline constexpr std::size_t kMostChanges = 1024;  // that a daemon remembers

struct AdapterKind {
  static constexpr std::uint8_t kInterface = 0;  // of the kernel's network
  static constexpr std::uint8_t kPort = 1;       // of an RDMA device
};

// Why an adapter is down.
struct AdapterCause {
  static constexpr std::uint8_t kUp = 0;  // it is not
  static constexpr std::uint8_t kNoCarrier = 1;
  static constexpr std::uint8_t kTakenDown = 2;  // by an administrator
  static constexpr std::uint8_t kNoAddress = 3;
  static constexpr std::uint8_t kRemoved = 4;
  static constexpr std::uint8_t kPortDown = 5;     // an RDMA port that is not active
  static constexpr std::uint8_t kUnreachable = 6;  // the kernel knows nothing against it, and nobody answers over it
};

struct AdapterAddress {
  MessageBytes bytes{};  // 4 or 16, as they are in packets
  std::uint8_t prefix = 0;
  bool operator==(const AdapterAddress&) const = default;
};

struct AdapterStatus {
  std::string name{};  // of an RDMA device's port: rxe0:1
  std::uint8_t kind = AdapterKind::kInterface;
  std::uint8_t cause = AdapterCause::kUp;
  std::uint32_t speed = 0;                  // Mbit/s; 0: unknown
  std::uint64_t since = 0;                  // that it is so: milliseconds of its node's clock since 1970
  std::vector<AdapterAddress> addresses{};  // of one that has lost them: the last ones
  bool is_up() const { return cause == AdapterCause::kUp; }
  bool operator==(const AdapterStatus&) const = default;
};

inline constexpr std::size_t kLeastAdapterBytes = 22;
void describe_adapter(auto& fields, auto& adapter) {
  fields.text(adapter.name);
  fields.byte(adapter.kind);
  fields.byte(adapter.cause);
  fields.number(adapter.speed);
  fields.wide(adapter.since);
  fields.list(adapter.addresses, 5, [](auto& element, auto& address) {
    element.bytes(address.bytes);
    element.byte(address.prefix);
  });
}

// A row of the matrix. Of two the one with the later generation holds, if both are of the same daemon.
struct NodeAdapters {
  std::uint32_t node = 0;
  std::uint32_t stamp = 0;  // of the node in the universe: which of the daemons that have had its number
  std::uint64_t generation = 0;
  std::vector<AdapterStatus> adapters{};
  bool operator==(const NodeAdapters&) const = default;
};

void describe_row(auto& fields, auto& row) {
  fields.number(row.node);
  fields.number(row.stamp);
  fields.wide(row.generation);
  fields.list(row.adapters, kLeastAdapterBytes,
              [](auto& element, auto& adapter) { describe_adapter(element, adapter); });
}
void describe_rows(auto& fields, auto& rows) {
  fields.list(rows, 20, [](auto& element, auto& row) { describe_row(element, row); });
}

// What became of an adapter, as a daemon has heard of it.
struct AdapterChange {
  std::uint64_t number = 0;  // of all that this daemon has heard of, from 1 on
  std::uint32_t node = 0;
  AdapterStatus adapter{};
  std::uint64_t heard = 0;  // milliseconds of this daemon's clock since 1970
  bool operator==(const AdapterChange&) const = default;
};

struct AdaptersMessage {
  static constexpr std::uint8_t kKind = 48;
  std::vector<NodeAdapters> rows{};
  static void describe(auto& fields, auto& message) { describe_rows(fields, message.rows); }
  bool operator==(const AdaptersMessage&) const = default;
};

struct MatrixRequest {
  static constexpr std::uint8_t kKind = 49;
  std::uint64_t known = 0;       // answered when the matrix is another than at this version; 0: at once
  std::uint32_t first_node = 0;  // of a long matrix: the nodes from here on
  std::uint8_t history = 0;      // 1: the changes, too
  static void describe(auto& fields, auto& message) {
    fields.wide(message.known);
    fields.number(message.first_node);
    fields.byte(message.history);
  }
  bool operator==(const MatrixRequest&) const = default;
};

struct MatrixMessage {
  static constexpr std::uint8_t kKind = 50;
  std::uint64_t version = 0;    // which grows with each change, from 1 on
  std::uint32_t next_node = 0;  // where the rest begins; 0: there is none
  std::vector<NodeAdapters> rows{};
  std::vector<AdapterChange> changes{};  // the oldest first
  static void describe(auto& fields, auto& message) {
    fields.wide(message.version);
    fields.number(message.next_node);
    describe_rows(fields, message.rows);
    fields.list(message.changes, 20 + kLeastAdapterBytes, [](auto& element, auto& change) {
      element.wide(change.number);
      element.number(change.node);
      describe_adapter(element, change.adapter);
      element.wide(change.heard);
    });
  }
  bool operator==(const MatrixMessage&) const = default;
};

struct FollowAdapters {
  static constexpr std::uint8_t kKind = 51;
  static void describe(auto&, auto&) {}
  bool operator==(const FollowAdapters&) const = default;
};

struct AdaptersChanged {
  static constexpr std::uint8_t kKind = 52;
  static void describe(auto&, auto&) {}
  bool operator==(const AdaptersChanged&) const = default;
};

struct PathReport {
  static constexpr std::uint8_t kKind = 53;
  MessageBytes here{};   // an address of the task's node
  MessageBytes there{};  // one of a peer's
  static void describe(auto& fields, auto& message) {
    fields.bytes(message.here);
    fields.bytes(message.there);
  }
  bool operator==(const PathReport&) const = default;
};

struct DoubtMessage {
  static constexpr std::uint8_t kKind = 54;
  std::uint32_t to = 0;    // node
  MessageBytes doubted{};  // an address of that node
  MessageBytes by{};       // the other node's, to or from which nothing comes through
  static void describe(auto& fields, auto& message) {
    fields.number(message.to);
    fields.bytes(message.doubted);
    fields.bytes(message.by);
  }
  // What tree_forwarder.h needs.
  std::vector<std::uint32_t> goals() const { return {to}; }
  DoubtMessage for_goals(const std::vector<std::uint32_t>& /*goals*/) const { return *this; }
  bool keeps_order_with(const DoubtMessage& /*other*/) const { return false; }
  bool operator==(const DoubtMessage&) const = default;
};

struct AdaptersTaken {
  static constexpr std::uint8_t kKind = 55;
  static void describe(auto&, auto&) {}
  bool operator==(const AdaptersTaken&) const = default;
};

// Within the bounds, and with values that there are.
bool is_possible(const AdapterStatus& adapter);
bool is_possible(const PathReport& report);
bool is_possible(const DoubtMessage& doubt);
bool is_possible(const NodeAdapters& row);

// About so many bytes it takes in a message.
std::size_t size_of(const NodeAdapters& row);

}  // namespace openlapi::daemon
