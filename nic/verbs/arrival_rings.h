// The receiver's rings: memory of this task that the busiest peers write short packets into (ring_slots.h). A ring lies
// behind a connection that packets come through: a peer asks for it with a message, and what is written for its sake
// (how many packets were taken; that it is closed) goes back through this end of the same connection (ring_control.h).
//
// Packets are copied out of a ring when they are found, so a slot is free at once, whatever the engine holds, and a
// ring may go at any time: once its queue pair has been stopped, and then it is deregistered before its memory goes.
// Rings are bounded in number, since each costs a look at every poll: for one more, the ring that was used least lately
// is closed and given back, and whoever asks meanwhile is refused and asks again. A closed ring opens again when so
// many packets have come through its connection that its receiver is awake.
//
// A packet whose slot stays partly there, or that was counted and is not written, would keep its receiver awake: after
// a second its ring is overdue, and whoever serves the connection closes that. The engine sends again what is lost.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/transport/packet.h"
#include "nic/verbs/last_uses.h"
#include "nic/verbs/registered_memory.h"
#include "nic/verbs/reliable_queue_pair.h"
#include "nic/verbs/ring_control.h"
#include "nic/verbs/ring_slots.h"

namespace openlapi::verbs {

struct ArrivalRingCounters {
  std::uint64_t packets = 0;
  std::uint64_t closings = 0;
  std::uint64_t openings = 0;    // again
  std::uint64_t given_back = 0;  // for others
  std::uint64_t given_up = 0;    // a packet did not come
};

// The packets that have been copied out of rings and that the engine holds, in the order in which it returns them.
class CopiedPackets {
 public:
  static constexpr std::size_t kMost = 128;

  std::byte* room() { return count_ != kMost ? slots_[(first_ + count_) % kMost].bytes.data() : nullptr; }
  void push() { ++count_; }
  void pop() { first_ = (first_ + 1) % kMost, --count_; }

 private:
  struct Slot {
    alignas(16) std::array<std::byte, kLongestInRing> bytes;
  };
  std::array<Slot, kMost> slots_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

class ArrivalRings {
 public:
  // Requests of one connection that may be under way. A ring given back may leave some behind.
  static constexpr std::uint32_t kRequests = 16;

  // `completions`: of what is posted through connections that have rings, of nothing else; room for kRequests of each.
  ArrivalRings(ibv_pd& memory, ibv_cq& completions, std::uint32_t most)
      : memory_(memory), completions_(completions), most_(most) {}

  // The ring behind this connection whose sender has its words at `control`. Null address: there is none.
  RingPlace find(const ReliableQueuePair& queue_pair, const RingPlace& control) const;
  // A new one, in the place of another one behind it. Null address: there is none to be had.
  RingPlace grant(ReliableQueuePair& queue_pair, std::uint64_t connection, const RingPlace& control);
  // The connection has been stopped. What is in its ring is lost with it.
  void forget(const ReliableQueuePair* queue_pair);

  // Takes packets out of the rings. Each is held until release(), in this order.
  std::size_t take(std::span<IncomingPacket> packets, LastUses& uses);
  void release() { copied_.pop(); }

  // A packet has come through this connection as a send.
  void sent_through(std::uint32_t queue_pair) {
    ++uses_;
    if (not_open_ != 0) [[unlikely]]
      count_send(queue_pair);
  }

  // To be called before sleeping, until it returns true: then nothing comes through rings until a packet has come
  // otherwise.
  bool close();
  // To be called now and then.
  void keep_up();
  // A connection to be closed, since its ring waits for a packet that does not come. Null: there is none.
  const ReliableQueuePair* overdue();

  std::size_t count() const { return rings_.size(); }
  bool any_open() const;
  const ArrivalRingCounters& counters() const { return counters_; }

 private:
  static constexpr std::uint32_t kTellAfter = kRingSlots / 2;  // packets
  static constexpr std::uint32_t kSendsOfOneAwake = 16;        // packets until a closed ring opens again
  static constexpr std::uint64_t kIdleUses = 256;              // packets of others before a ring may be given back
  static constexpr std::uint64_t kLongestWait = 1000;          // milliseconds, for a packet that is on its way
  static constexpr int kPollBatch = 16;
  static constexpr std::uint64_t kRead = 1;  // in a request's number

  enum class State : std::uint8_t { open, closing, closed, broken };

  struct Ring {
    ReliableQueuePair* queue_pair = nullptr;
    std::uint64_t number = 0;  // of its requests, above kRead
    std::unique_ptr<RegisteredMemory> memory;
    RingPlace control;
    SlotReader slots;
    State state = State::open;
    bool reading = false;
    bool leaving = false;            // it is given back once it is closed
    std::uint32_t under_way = 0;     // requests
    std::uint32_t told = 0;          // packets taken, as the sender has been told; lower 32 bits
    std::uint32_t sends = 0;         // since it was closed
    std::uint64_t last_use = 0;      // counts packets of all connections
    std::uint64_t missed = 0;        // the packet that is on its way, counted from 1; 0: none is known of
    std::uint64_t missed_since = 0;  // milliseconds
    bool overdue = false;            // that packet

    std::uint64_t written() const;  // as the last read has it
  };

  static RingPlace place_of(const Ring& ring);
  std::size_t take_from(Ring& ring, std::span<IncomingPacket> packets);
  void count_send(std::uint32_t queue_pair);
  bool tell(Ring& ring, RingState state);
  bool begin_closing(Ring& ring);
  void read(Ring& ring);
  void post(Ring& ring, ibv_send_wr& request);
  void read_is_done(Ring& ring);
  void miss_packet(Ring& ring);
  void poll();
  void set(Ring& ring, State state);
  void give_one_back();
  Ring* numbered(std::uint64_t number);

  ibv_pd& memory_;
  ibv_cq& completions_;
  std::uint32_t most_;
  std::vector<Ring> rings_;
  std::size_t first_ = 0;     // of rings_, to be looked at
  std::size_t not_open_ = 0;  // rings
  std::uint64_t next_number_ = 0;
  std::uint64_t uses_ = 0;
  CopiedPackets copied_;
  ArrivalRingCounters counters_;
};

}  // namespace openlapi::verbs
