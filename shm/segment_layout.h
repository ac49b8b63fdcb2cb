// The bytes that the tasks of one node share: one group header, then one segment per task. Offsets only, no pointers.
// Every field names its writer. A segment belongs to its receiver; any task of the group may send into it.
//
//   group:    GroupHeader | Segment 0 | Segment 1 | ...                       (each part starts on a page)
//   segment:  SegmentHeader | SenderLine[tasks] | era[tasks] | withheld[slots / 64] | PacketLine[slots] |
//   room[kNearRooms] | room[slots]
//
// Slot i of a queue is PacketLine i. A packet of up to kInlineBytes is stored in its line alone, so that an 8-byte put
// moves one cache line and a stream of them touches consecutive lines. A longer packet is stored in a room, and the
// line only announces it. Which room: while fewer than kNearRooms packets are out, one of the near rooms in turn, which
// both sides' caches and address translation still hold; otherwise the slot's own (far) room. (1 KiB between two cores:
// 16 rooms in turn cost as little as a single one, 128 in turn 70 to 90 ns more; for lines it is the opposite.)
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm/shm_config.h"

namespace openlapi::shm {

inline constexpr std::size_t kCacheLine = 64;
inline constexpr std::size_t kLinePair = 128;  // adjacent-line prefetchers fetch pairs: keep writers apart by two lines
inline constexpr std::size_t kPage = 4096;
inline constexpr std::size_t kInlineBytes = 56;
inline constexpr std::uint32_t kNearRooms = 16;
inline constexpr std::uint64_t kGroupMagic = 0x6c617069'73686d34;  // "lapishm4"

enum class GroupState : std::uint32_t { kForming = 0, kOpen = 1, kFailed = 2 };
enum class TaskState : std::uint32_t { kAbsent = 0, kReady = 1, kClosed = 2 };

// Written by the leader before it hands out the descriptor; `state` by the leader afterwards, too.
struct alignas(kPage) GroupHeader {
  std::uint64_t magic;
  std::uint64_t nonce;  // tells this group from every other; part of each task's address
  std::uint32_t tasks;
  std::uint32_t slots;
  std::uint32_t packet_bytes;
  std::uint32_t leader;              // PeerIndex
  std::atomic<std::uint32_t> state;  // GroupState; futex that the members wait on
  std::uint32_t failure;             // ShmFailure; with the text valid once `state` is kFailed
  char reason[256];
  std::uint32_t version;  // GroupLayout::version of the leader
};

// Announces the packet in its slot. The sender that owns the slot's ticket writes it as its last store (release); the
// segment's owner reads it (acquire). 64 bits, so that the announcement and what it says are one store.
//   bits 0..31   sequence: low half of ticket + 1
//   bits 32..43  the sender: its local index, and the receiver's era that the packet is for (make_sender())
//   bits 44..46  in a room: where the packet begins, in units of 8 bytes
//   bit  47      in a room: a near one
//   bits 48..63  length in bytes
struct alignas(kCacheLine) PacketLine {
  std::atomic<std::uint64_t> control;
  std::byte data[kInlineBytes];
};

// Where a packet whose first `head` bytes are a header begins in its room: what follows the header starts a cache line,
// so that a message's data takes no more lines than needed and is copied and read from the beginning of a line.
constexpr std::uint32_t room_start(std::size_t head) { return -head & (kCacheLine - 8); }

inline constexpr std::uint32_t kNearRoom = 64;  // with room_start(): the `place` of make_control()

// A receiver's era with one sender: how often the receiver has purged the sender or given it up, times two; odd while
// the sender is purged (the era is closed). Packets carry a tag, the low bits of the receiver's era in which the sender
// began anew with it, and are received in that era only. A few bits are enough: the end of an era voids what waits in
// the queue, and whatever a sender still has to publish carries the tag of the era that it began last, however many it
// has missed since. The sender has announced that era (begin_era()), and no later era gets its tag
// (ReceiveQueue::close()). tests/models/shm_eras.pml tries all orders. The top bit of an open era says why it began.
inline constexpr std::uint64_t kGivenUp = std::uint64_t{1} << 63;
constexpr bool is_closed(std::uint64_t era) { return (era & 1) != 0; }
constexpr std::uint64_t closed_era(std::uint64_t era) { return ((era & ~kGivenUp) + 2) | 1; }
constexpr std::uint64_t opened_era(std::uint64_t era) { return era & ~std::uint64_t{1}; }
constexpr std::uint32_t era_number(std::uint64_t era) { return static_cast<std::uint32_t>(era >> 1); }

inline constexpr unsigned kSourceBits = 10;
inline constexpr unsigned kSenderBits = 12;

constexpr std::uint32_t make_sender(std::uint32_t source, std::uint64_t era = 0) {
  constexpr std::uint32_t kTags = 1u << (kSenderBits - kSourceBits);
  return source | (static_cast<std::uint32_t>(era >> 1) & (kTags - 1)) << kSourceBits;
}
constexpr std::uint32_t sender_source(std::uint32_t sender) { return sender & ((1u << kSourceBits) - 1); }

constexpr std::uint64_t make_control(std::uint64_t ticket, std::uint32_t sender, std::uint32_t length,
                                     std::uint32_t place = 0) {
  return static_cast<std::uint32_t>(ticket + 1) | std::uint64_t{sender} << 32 | std::uint64_t{place / 8} << 44 |
         std::uint64_t{length} << 48;
}
constexpr std::uint32_t control_sequence(std::uint64_t control) { return static_cast<std::uint32_t>(control); }
constexpr std::uint32_t control_sender(std::uint64_t control) { return control >> 32 & ((1u << kSenderBits) - 1); }
constexpr std::uint32_t control_start(std::uint64_t control) { return (control >> 44 & 7) * 8; }
constexpr bool control_near(std::uint64_t control) { return (control >> 47 & 1) != 0; }
constexpr std::uint32_t control_length(std::uint64_t control) { return static_cast<std::uint32_t>(control >> 48); }

// What one sender announces; written by that sender alone.
struct alignas(kCacheLine) SenderLine {
  // The tickets that it is about to claim, or has claimed and not yet published; zero: none. Written before the claim
  // becomes visible, cleared after the last publication. The receiver reads it only when its queue stands still, to
  // find tickets whose owner died (receive_queue.cc).
  //   bits 0..15  number of tickets;  16..63  first ticket
  std::atomic<std::uint64_t> claim;
  // The latest of the owner's eras that it has begun. The owner reads it when it ends an era, and when a claim keeps it
  // waiting.
  std::atomic<std::uint64_t> begun;
};

// The owner's era with one sender. Written by the owner; the sender reads it when it begins anew, or waits to.
using Era = std::atomic<std::uint64_t>;

// One bit per slot, written by the owner: it no longer waits for what a given-up sender was about to put there, and
// which that sender may still write one day. Such a slot is never used again: both the owner and whoever gets a ticket
// of it skip it. The bit is set before `head` passes the abandoned ticket, so the owner of a later ticket of the slot
// sees it.
using WithheldBits = std::atomic<std::uint64_t>;

inline constexpr std::uint64_t kTicketMask = (std::uint64_t{1} << 48) - 1;

constexpr std::uint64_t make_intent(std::uint64_t ticket, std::uint64_t count) { return ticket << 16 | count; }
constexpr std::uint64_t intent_ticket(std::uint64_t intent) { return intent >> 16; }
constexpr std::uint64_t intent_count(std::uint64_t intent) { return intent & 0xffff; }
constexpr bool intent_covers(std::uint64_t intent, std::uint64_t ticket) {
  return ((ticket - intent_ticket(intent)) & kTicketMask) < intent_count(intent);
}

struct SegmentHeader {
  // The next ticket to claim. Written by senders (compare-and-swap); the owner reads it only when the queue seems
  // stuck.
  alignas(kLinePair) std::atomic<std::uint64_t> tail;
  // Tickets below it are free again. Written lazily by the owner; read by senders whose cached copy says "full".
  alignas(kLinePair) std::atomic<std::uint64_t> head;
  // Odd: the owner sleeps or is about to; even: it is awake. The owner changes even to odd (arm) and odd to even
  // (disarm); a sender that has rung changes the odd value it saw to the next even one.
  alignas(kLinePair) std::atomic<std::uint32_t> armed;
  // Who owns the segment. Written by the owner before `state` becomes kReady (release), constant afterwards.
  alignas(kLinePair) std::uint64_t process_token;  // random per process: recognises another task of the same process
  std::uint64_t proof_address;                     // where in the owner's memory `proof` can be read
  std::uint64_t proof;
  std::uint32_t process_id;             // in the owner's process namespace
  std::uint32_t task;                   // PeerIndex
  std::atomic<std::uint32_t> state;     // TaskState
  std::atomic<std::uint32_t> withheld;  // how many slots are withheld
  // The owner's descriptor of its control memory (direct/control_memory.h), plus one; 0: it has none, or not yet.
  std::atomic<std::uint32_t> direct;
  alignas(8) std::uint64_t direct_proof;  // ControlHeader::proof; written before `direct`; at one place in 32 bits, too
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free && std::atomic<std::uint32_t>::is_always_lock_free);
static_assert(sizeof(GroupHeader) == kPage && offsetof(GroupHeader, state) == 32 &&
              offsetof(GroupHeader, version) == 296);
static_assert(sizeof(PacketLine) == kCacheLine && offsetof(PacketLine, data) == 8);
static_assert(sizeof(SenderLine) == kCacheLine && kMaxShmTasks <= 1u << kSourceBits && sizeof(Era) == 8);
static_assert(offsetof(SegmentHeader, head) == 128 && offsetof(SegmentHeader, armed) == 256);
static_assert(offsetof(SegmentHeader, process_token) == 384 && sizeof(SegmentHeader) == 512);
static_assert(offsetof(SegmentHeader, proof_address) == 392 && offsetof(SegmentHeader, process_id) == 408);
static_assert(offsetof(SegmentHeader, task) == 412 && offsetof(SegmentHeader, state) == 416 &&
              offsetof(SegmentHeader, direct) == 424 && offsetof(SegmentHeader, direct_proof) == 432);

// Where the parts are, for given sizes. 64 bits in every task, since the largest sizes do not fit into 32. A 32-bit
// task checks group_size() before it maps the group (segment.cc).
struct GroupLayout {
  std::uint32_t tasks;
  std::uint32_t slots;
  std::uint32_t packet_bytes;
  std::uint32_t version = 0;  // what else the tasks have to agree about

  // A packet, and the cache line by which its beginning may be shifted. An odd number of lines, so that the rooms'
  // first lines do not share a cache set.
  constexpr std::uint64_t room_stride() const {
    return ((packet_bytes + 2 * kCacheLine - 1) / kCacheLine | 1) * kCacheLine;
  }
  constexpr std::uint64_t senders_offset() const { return sizeof(SegmentHeader); }
  constexpr std::uint64_t eras_offset() const { return senders_offset() + std::uint64_t{tasks} * sizeof(SenderLine); }
  constexpr std::uint64_t withheld_offset() const { return eras_offset() + std::uint64_t{tasks} * sizeof(Era); }
  constexpr std::uint64_t lines_offset() const {
    return (withheld_offset() + (slots + 63) / 64 * sizeof(WithheldBits) + kPage - 1) / kPage * kPage;
  }
  constexpr std::uint64_t near_rooms_offset() const {
    return lines_offset() + std::uint64_t{slots} * sizeof(PacketLine);
  }
  constexpr std::uint64_t rooms_offset() const { return near_rooms_offset() + kNearRooms * room_stride(); }
  constexpr std::uint64_t segment_size() const {
    return (rooms_offset() + slots * room_stride() + kPage - 1) / kPage * kPage;
  }
  constexpr std::uint64_t segment_offset(std::uint64_t index) const {
    return sizeof(GroupHeader) + index * segment_size();
  }
  constexpr std::uint64_t group_size() const { return segment_offset(tasks); }
};

static_assert(GroupLayout{kMaxShmTasks, kDefaultShmSlots, kDefaultShmPacket}.segment_size() <= 4u << 20,
              "at most 4 MiB of shared memory per task");

}  // namespace openlapi::shm
