// The sending side of one task's queue: many senders, each with its own SendQueue, write into one segment.
//
// A sender (1) announces the tickets that it is about to reserve in its intent and reserves them by moving `tail`, (2)
// writes each packet, (3) publishes it by storing the line's control word, (4) clears its intent. No step waits for
// another sender.
#pragma once

#include <cstring>
#include <span>

#include "dataplane/transport/packet.h"
#include "shm/segment.h"

namespace openlapi::shm {

// Copies up to kInlineBytes without a call: fixed-size moves, the last one overlapping the one before.
inline void copy_inline(std::byte* target, const std::byte* source, std::size_t length) {
  const auto move = [&]<std::size_t kBytes>(std::size_t from) {
    std::byte moved[kBytes];
    std::memcpy(moved, source + from, kBytes);
    std::memcpy(target + from, moved, kBytes);
  };
  if (length == 8) return move.template operator()<8>(0);
  if (length > 16) {
    move.template operator()<16>(0);
    if (length > 32) {
      move.template operator()<16>(16);
      if (length > 48) move.template operator()<16>(32);
    }
    return move.template operator()<16>(length - 16);
  }
  if (length >= 8) {
    move.template operator()<8>(0);
    return move.template operator()<8>(length - 8);
  }
  for (std::size_t i = 0; i < length; ++i) target[i] = source[i];
}

// The era in which `source` begins anew. The segment's owner is told: either it sees which era that is when it ends it,
// or we see here that it has already ended.
inline std::uint64_t begin_era(const SegmentView& segment, std::uint32_t source) {
  const std::atomic<std::uint64_t>& present = segment.eras[source];
  std::uint64_t era = 0;
  do {
    // Acquire: what the owner did before it opened the era; pairs with ReceiveQueue::open().
    era = present.load(std::memory_order_acquire);
    // Sequentially consistent, both: pair with ReceiveQueue::close().
    segment.senders[source].begun.store(era, std::memory_order_seq_cst);
  } while (present.load(std::memory_order_seq_cst) != era);
  return era;
}

class SendQueue {
 public:
  SendQueue() = default;

  // `source`: the sender's local index; at most one SendQueue per source and segment. `era`: what begin_era() returned.
  SendQueue(const SegmentView& segment, const GroupLayout& layout, std::uint32_t source, std::uint64_t era = 0)
      : tail_(&segment.header->tail),
        lines_(segment.lines),
        intent_(&segment.senders[source].claim),
        near_rooms_(segment.near_rooms),
        rooms_(segment.rooms),
        room_stride_(layout.room_stride()),
        slots_(layout.slots),
        sender_(make_sender(source, era)),
        withheld_bits_(segment.withheld),
        header_(segment.header) {}

  // Takes as many packets, in order, as there is room for, and publishes them. Never waits.
  std::size_t send(std::span<const OutgoingPacket> packets) {
    for (;;) {
      std::uint64_t ticket;
      const std::size_t count = claim(packets.size(), ticket);
      const std::size_t taken = publish(packets, ticket, count);
      if (taken != 0 || count == 0) [[likely]]
        return taken;  // else all slots that were claimed are withheld
    }
  }

  // send() was interrupted while it read a packet: the claimed slots that it has not published are published as packets
  // without bytes, which mean nothing to anybody. Slots that were given back already belong to others by now.
  void abandon() {
    const std::uint64_t head = header_->head.load(std::memory_order_relaxed);
    const std::uint64_t intent = intent_->load(std::memory_order_relaxed);
    const std::uint64_t end = intent_ticket(intent) + intent_count(intent);
    for (std::uint64_t ticket = intent_ticket(intent); ticket != end; ++ticket) {
      if (static_cast<std::int64_t>(ticket - head) < 0) continue;
      PacketLine& line = lines_[ticket & (slots_ - 1)];
      const std::uint32_t found = control_sequence(line.control.load(std::memory_order_relaxed));
      const bool announced = static_cast<std::int32_t>(found - static_cast<std::uint32_t>(ticket + 1)) >= 0;
      // Release here and for the intent: as in send().
      if (!announced) line.control.store(make_control(ticket, sender_, 0, 0), std::memory_order_release);
    }
    intent_->store(0, std::memory_order_release);
  }

  // Whether the owner has taken everything that was sent here.
  bool all_taken() {
    if (sent_ <= cached_head_) [[likely]]
      return true;
    look_at_head();
    return sent_ <= cached_head_;
  }

  SegmentHeader& header() const { return *header_; }

 private:
  // Returns how many packets the claimed slots have taken; withheld slots take none.
  std::size_t publish(std::span<const OutgoingPacket> packets, std::uint64_t ticket, std::size_t count) {
    std::size_t taken = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (withholds_ && withheld(ticket + i)) [[unlikely]]
        continue;
      const OutgoingPacket& packet = packets[taken++];
      const std::uint32_t length = packet.length;
      PacketLine& line = lines_[(ticket + i) & (slots_ - 1)];
      std::uint32_t place = 0;
      if (length <= kInlineBytes) {
        gather_inline(line.data, packet);
      } else {
        place = fill_room(ticket + i, packet);
      }
      // Release: the packet's bytes before its announcement; pairs with the acquire in ReceiveQueue::receive().
      line.control.store(make_control(ticket + i, sender_, length, place), std::memory_order_release);
    }
    // Release: publications before the cleared intent; pairs with the acquire in ReceiveQueue::owner().
    if (count != 0) intent_->store(0, std::memory_order_release);
    return taken;
  }

  // Reserves up to `wanted` tickets; `ticket` becomes the first one.
  std::size_t claim(std::size_t wanted, std::uint64_t& ticket) {
    ticket = tail_->load(std::memory_order_relaxed);
    for (;;) {
      std::size_t count = wanted;
      if (ticket + wanted - cached_head_ > slots_) {
        look_at_head();
        const std::uint64_t used = ticket - cached_head_;
        if (used >= slots_) [[unlikely]] {
          // A claim that failed before may have left an intent for tickets that another sender owns. If that sender
          // died, the owner would wait for us, and we for room. Release: as in send().
          intent_->store(0, std::memory_order_release);
          return 0;
        }
        if (count > slots_ - used) count = slots_ - used;
      }
      if (count == 0) return 0;
      // Release here and in the exchange: whoever sees a tail beyond our tickets sees that we may own them, and
      // whoever sees this intent sees everything that we published under the one before.
      intent_->store(make_intent(ticket, count), std::memory_order_release);
      // Sequentially consistent: comes before our look at `armed` (shm_doorbell.cc).
      if (tail_->compare_exchange_weak(ticket, ticket + count, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        sent_ = ticket + count;
        return count;
      }
    }
  }

  // Copies the packet into a room for its ticket. Returns where, in the form that make_control() takes.
  std::uint32_t fill_room(std::uint64_t ticket, const OutgoingPacket& packet) {
    const std::uint32_t start = room_start(packet.pieces.front().length);
    if (near_room_is_free(ticket)) [[likely]] {
      gather(near_rooms_ + (ticket & (kNearRooms - 1)) * room_stride_ + start, packet);
      return start | kNearRoom;
    }
    gather(rooms_ + (ticket & (slots_ - 1)) * room_stride_ + start, packet);
    return start;
  }

  // Acquire: the owner is done with the slots below head, and has marked those it withholds; pairs with
  // ReceiveQueue::publish_head().
  void look_at_head() {
    cached_head_ = header_->head.load(std::memory_order_acquire);
    withholds_ = header_->withheld.load(std::memory_order_relaxed) != 0;
  }

  bool withheld(std::uint64_t ticket) const {
    const std::uint64_t slot = ticket & (slots_ - 1);
    return (withheld_bits_[slot / 64].load(std::memory_order_relaxed) >> slot % 64 & 1) != 0;
  }

  // Tickets that are kNearRooms apart share a near room: the earlier one must have been given back and not withheld, or
  // somebody may still write there. Reading `head` costs a cache line that the owner writes, so it is read only once in
  // so many packets.
  bool near_room_is_free(std::uint64_t ticket) {
    if (ticket - cached_head_ < kNearRooms) [[likely]]
      return !withholds_;
    if (static_cast<std::int64_t>(ticket - next_look_) < 0) return false;
    next_look_ = ticket + kNearRooms / 2;
    look_at_head();
    return ticket - cached_head_ < kNearRooms && !withholds_;
  }

  static void gather_inline(std::byte* target, const OutgoingPacket& packet) {
    for (const ConstBuffer& piece : packet.pieces) {
      copy_inline(target, static_cast<const std::byte*>(piece.data), piece.length);
      target += piece.length;
    }
  }

  static void gather(std::byte* target, const OutgoingPacket& packet) {
    for (const ConstBuffer& piece : packet.pieces) {
      if (piece.length <= kInlineBytes) {
        copy_inline(target, static_cast<const std::byte*>(piece.data), piece.length);
      } else {
        std::memcpy(target, piece.data, piece.length);
      }
      target += piece.length;
    }
  }

  std::atomic<std::uint64_t>* tail_ = nullptr;
  PacketLine* lines_ = nullptr;
  std::atomic<std::uint64_t>* intent_ = nullptr;
  std::uint64_t cached_head_ = 0;  // never more than the true head
  std::uint64_t sent_ = 0;         // the ticket after our latest one
  std::uint64_t next_look_ = 0;    // from this ticket on it is worth asking for near rooms again
  std::byte* near_rooms_ = nullptr;
  std::byte* rooms_ = nullptr;
  std::size_t room_stride_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t sender_ = 0;
  bool withholds_ = false;  // the owner withholds some slot
  const WithheldBits* withheld_bits_ = nullptr;
  SegmentHeader* header_ = nullptr;
};

}  // namespace openlapi::shm
