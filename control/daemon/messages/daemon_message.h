// What daemons tell each other, and tools a daemon. A message is a version byte, a kind byte and the fields of its
// kind; streams (message_stream.h, sealed_stream.h) put a length before it.
//
//   between daemons   Link        the first in both directions: who I am, and which nodes are not as they were booted
//                     Ready       upwards: all daemons below me are linked; downwards: all of the universe are
//                     Node        what has become of a node; to all, once
//                     Lost        to a daemon that wants to link: the others take you for gone
//                     Halt        end, and wait so long for those behind you; towards all daemons that have not sent it
//                     Halted      these daemons have ended, these have not answered, and I am ending now; backwards
//                     Job         of a job: to its lapirun or its nodes, passed on along the tree
//                     Network     of network tables, and all that tasks and tools say about them: network_message.h
//                     Adapters    of the network availability matrix, and what tools ask about it: adapter_message.h
//   from a tool       UniverseRequest, answered by Universe when all daemons are linked (at once, if the tool asks so);
//                     Halt, answered by Halted; JobsRequest, answered by Jobs; Job, by which lapirun becomes the other
//                     end of a job
//                     GrowthRequest, answered by Growth: lamgrow may boot a node, and how; Grow, answered by Outcome:
//                     the node that it booted belongs to the universe
//                     Shrink, answered by Outcome: a node does not any more
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "control/daemon/messages/adapter_message.h"
#include "control/daemon/messages/message_fields.h"
#include "control/daemon/messages/network_message.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

// The version of what daemons, tools and lamtasks tell each other; no other is understood. 1: openlapi 0.1.0.
inline constexpr std::uint8_t kMessageVersion = 2;

inline constexpr std::size_t kLeastRecordBytes = 37;
void describe_record(auto& fields, auto& record) {
  fields.number(record.number);
  fields.byte(record.node.state);
  fields.number(record.node.address);
  fields.number(record.node.port);
  fields.number(record.node.type);
  fields.number(record.node.cpus);
  fields.text(record.node.host);
  fields.number(record.node.stamp);
  fields.number(record.node.sponsor);
  fields.number(record.node.grace);
}

struct LinkMessage {
  static constexpr std::uint8_t kKind = 1;
  std::uint32_t node = 0;
  std::vector<NodeRecord> changes{};
  static void describe(auto& fields, auto& message) {
    fields.number(message.node);
    fields.list(message.changes, kLeastRecordBytes,
                [](auto& element, auto& record) { describe_record(element, record); });
  }
  bool operator==(const LinkMessage&) const = default;
};

struct ReadyMessage {
  static constexpr std::uint8_t kKind = 2;
  static void describe(auto&, auto&) {}
  bool operator==(const ReadyMessage&) const = default;
};

struct LostMessage {
  static constexpr std::uint8_t kKind = 3;
  std::uint32_t node = 0;
  static void describe(auto& fields, auto& message) { fields.number(message.node); }
  bool operator==(const LostMessage&) const = default;
};

struct HaltMessage {
  static constexpr std::uint8_t kKind = 4;
  std::uint32_t limit = 0;  // milliseconds
  static void describe(auto& fields, auto& message) { fields.number(message.limit); }
  bool operator==(const HaltMessage&) const = default;
};

struct HaltedMessage {
  static constexpr std::uint8_t kKind = 5;
  std::vector<std::uint32_t> nodes{};
  std::vector<std::uint32_t> silent{};
  static void describe(auto& fields, auto& message) {
    for (auto* list : {&message.nodes, &message.silent}) {
      fields.list(*list, 4, [](auto& element, auto& node) { element.number(node); });
    }
  }
  bool operator==(const HaltedMessage&) const = default;
};

struct NodeMessage {
  static constexpr std::uint8_t kKind = 7;
  NodeRecord record{};
  static void describe(auto& fields, auto& message) { describe_record(fields, message.record); }
  bool operator==(const NodeMessage&) const = default;
};

struct UniverseRequest {
  static constexpr std::uint8_t kKind = 16;
  std::uint8_t wait_until_linked = 0;
  static void describe(auto& fields, auto& message) { fields.byte(message.wait_until_linked); }
  bool operator==(const UniverseRequest&) const = default;
};

struct UniverseMessage {
  static constexpr std::uint8_t kKind = 17;
  std::uint32_t here = 0;
  std::vector<UniverseNode> nodes{};     // the index is the node's number
  std::vector<std::uint32_t> parents{};  // of the nodes, as UniverseTable::parents() has them
  static void describe(auto& fields, auto& message) {
    fields.number(message.here);
    fields.list(message.nodes, 21, [](auto& element, auto& node) {
      element.byte(node.state);
      element.number(node.address);
      element.number(node.port);
      element.number(node.type);
      element.number(node.cpus);
      element.text(node.host);
    });
    fields.list(message.parents, 4, [](auto& element, auto& parent) { element.number(parent); });
  }
  bool operator==(const UniverseMessage&) const = default;
};

struct GrowthRequest {
  static constexpr std::uint8_t kKind = 18;
  static void describe(auto&, auto&) {}
  bool operator==(const GrowthRequest&) const = default;
};

// The key of the boot never leaves the user's processes: tools ask over a socket in a folder that is his alone.
struct GrowthMessage {
  static constexpr std::uint8_t kKind = 19;
  std::uint32_t origin = 0;
  MessageBytes key{};
  std::string refused{};         // why; empty: it is not
  std::uint8_t promiscuous = 0;  // the universe was booted with boot_base_promisc 1
  static void describe(auto& fields, auto& message) {
    fields.number(message.origin);
    fields.list(message.key, 1, [](auto& element, auto& byte) { element.byte(byte); });
    fields.text(message.refused);
    fields.byte(message.promiscuous);
  }
  bool operator==(const GrowthMessage&) const = default;
};

struct GrowMessage {
  static constexpr std::uint8_t kKind = 20;
  NodeRecord record{};
  static void describe(auto& fields, auto& message) { describe_record(fields, message.record); }
  bool operator==(const GrowMessage&) const = default;
};

struct ShrinkMessage {
  static constexpr std::uint8_t kKind = 21;
  std::uint32_t node = 0;
  std::uint32_t grace = 0;  // seconds
  std::uint8_t force = 0;   // 1: its daemon is not asked
  static void describe(auto& fields, auto& message) {
    fields.number(message.node);
    fields.number(message.grace);
    fields.byte(message.force);
  }
  bool operator==(const ShrinkMessage&) const = default;
};

struct OutcomeMessage {
  static constexpr std::uint8_t kKind = 22;
  std::string failure{};  // empty: done
  static void describe(auto& fields, auto& message) { fields.text(message.failure); }
  bool operator==(const OutcomeMessage&) const = default;
};

struct JobAction {
  static constexpr std::uint8_t kStart = 1;   // to nodes: start the job's helper; the body is for it
  static constexpr std::uint8_t kData = 2;    // between lapirun and helpers, and helpers; the body is theirs
  static constexpr std::uint8_t kEnd = 3;     // to nodes: the job is over, its helpers are to end
  static constexpr std::uint8_t kGone = 4;    // to lapirun: the helper of node `from` has ended; the body may say why
  static constexpr std::uint8_t kBroken = 5;  // to lapirun: the job cannot go on; the body says why
  static constexpr std::uint8_t kCutOff = 6;  // to lapirun: nothing is heard of node `from` any more; the body says why
  // The same, as another daemon on the way is lost: that of the node may notice much later.
  static constexpr std::uint8_t kWayLost = 7;
};

// A job is known by the node whose daemon serves its lapirun, and a number that this daemon gave. Daemons do not look
// into the body (control/job/messages/job_message.h).
struct JobMessage {
  static constexpr std::uint8_t kKind = 6;
  std::uint32_t home = 0;
  std::uint32_t number = 0;
  std::uint32_t from = 0;
  std::uint8_t action = JobAction::kData;
  std::vector<std::uint32_t> to{};  // nodes; empty: lapirun
  MessageBytes body{};
  static void describe(auto& fields, auto& message) {
    fields.number(message.home);
    fields.number(message.number);
    fields.number(message.from);
    fields.byte(message.action);
    fields.list(message.to, 4, [](auto& element, auto& node) { element.number(node); });
    fields.bytes(message.body);
  }
  // What tree_forwarder.h needs.
  std::vector<std::uint32_t> goals() const { return to.empty() ? std::vector{home} : to; }
  JobMessage for_goals(std::vector<std::uint32_t> goals) const {
    if (to.empty()) goals.clear();
    return {home, number, from, action, std::move(goals), body};
  }
  bool keeps_order_with(const JobMessage& other) const { return home == other.home && number == other.number; }
  bool operator==(const JobMessage&) const = default;
};

struct JobsRequest {
  static constexpr std::uint8_t kKind = 23;
  static void describe(auto&, auto&) {}
  bool operator==(const JobsRequest&) const = default;
};

// A job that this daemon has a part in.
struct JobEntry {
  std::uint32_t home = 0;
  std::uint32_t number = 0;
  std::uint32_t lapirun = 0;           // its process; 0: on another node
  std::uint32_t helper = 0;            // the process of lamtasks here; 0: no tasks here
  std::vector<std::uint32_t> nodes{};  // that have tasks; empty where lapirun is not
  bool operator==(const JobEntry&) const = default;
};

struct JobsMessage {
  static constexpr std::uint8_t kKind = 24;
  std::vector<JobEntry> jobs{};
  static void describe(auto& fields, auto& message) {
    fields.list(message.jobs, 20, [](auto& element, auto& job) {
      element.number(job.home);
      element.number(job.number);
      element.number(job.lapirun);
      element.number(job.helper);
      element.list(job.nodes, 4, [](auto& each, auto& node) { each.number(node); });
    });
  }
  bool operator==(const JobsMessage&) const = default;
};

using DaemonMessage =
    std::variant<LinkMessage, ReadyMessage, LostMessage, HaltMessage, HaltedMessage, JobMessage, NodeMessage,
                 UniverseRequest, UniverseMessage, GrowthRequest, GrowthMessage, GrowMessage, ShrinkMessage,
                 OutcomeMessage, JobsRequest, JobsMessage, LoadRequest, UnloadRequest, TablesRequest, TablesMessage,
                 OpenWindows, WindowsMessage, GiveAddresses, AddressesMessage, NetworkMessage, CleanRequest,
                 AdaptersMessage, MatrixRequest, MatrixMessage, FollowAdapters, AdaptersChanged, PathReport,
                 DoubtMessage, AdaptersTaken>;

MessageBytes encode(const DaemonMessage& message);
// Nothing: another version, an unknown kind, too few or too many bytes, or an impossible value.
std::optional<DaemonMessage> decode(std::span<const std::uint8_t> bytes);

}  // namespace openlapi::daemon
