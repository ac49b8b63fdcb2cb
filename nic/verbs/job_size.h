// How a transport's queues follow the size of the job: more tasks elsewhere may send to this one at the same time, and
// the tasks of a node share its memory and an adapter's queue pairs. README.md has what a large job takes.
#pragma once

#include <cstdint>

namespace openlapi::verbs {

struct JobSize {
  std::uint32_t tasks = 1;
  std::uint32_t local_tasks = 1;  // of this task's node
};

inline constexpr std::uint32_t kFewestReceiveSlots = 512;
inline constexpr std::uint32_t kMostReceiveSlots = 4096;
// Who sends much at once needs so many, 256 KiB at the largest MTU: as much as goes over 200 Gbit/s in ten
// microseconds.
inline constexpr std::uint32_t kPacketsOfSender = 64;
inline constexpr std::uint32_t kSendersAtOnce = 64;    // with more at a time packets may be lost
inline constexpr std::uint32_t kAnswersOfSender = 3;  // acknowledgements, which take slots besides
inline constexpr std::uint32_t kReceiveSlotsOfNode =
    64 * 1024;  // 260 MiB at the largest MTU, and as much for a shared queue

inline constexpr std::uint32_t kPacketConnections = 64;          // of a task, to send through
inline constexpr std::uint32_t kPacketConnectionsOfNode = 4096;  // 1 GiB at the largest MTU
inline constexpr std::uint32_t kBulkConnections = 256;           // of a task, of each kind
inline constexpr std::uint32_t kOneSidedConnections = 64;        // of a task, of each kind, where it has them
inline constexpr std::uint32_t kPacketRings = 16;  // of a task, each a look at every poll and 8 KiB of locked memory
inline constexpr std::uint32_t kPacketRingsOfNode = 1024;  // 8 MiB

// Grow with the senders, where so many slots of all tasks fit the node's memory.
std::uint32_t receive_slots_for(const JobSize& job);

// How many of these each task may fill with what is not acknowledged, so that there is room for kSendersAtOnce.
std::uint32_t packets_of_sender(std::uint32_t receive_slots, std::uint32_t senders);

struct ConnectionBounds {
  std::uint32_t packets = kPacketConnections;  // to send through; twice as many to receive through
  std::uint32_t bulk = kBulkConnections;       // to read through; as many to be read through
  std::uint32_t rings = kPacketRings;          // in this task's memory, behind connections for packets
  std::uint32_t one_sided = 0;                 // to read a few bytes through; as many to be read through
  // With the one for datagrams.
  constexpr std::uint32_t queue_pairs() const { return 1 + 3 * packets + 2 * (bulk + one_sided); }
};

// Half of the adapter's queue pairs are for the job, in equal shares: all tasks of the node may use the same adapter.
// All kinds become fewer in proportion; 0: there are too few for connections. `one_sided`: there are some of that kind.
ConnectionBounds connection_bounds(const JobSize& job, std::uint32_t queue_pairs, bool one_sided = false);

}  // namespace openlapi::verbs
