// The sending side of one task's queue: many senders, each with its own SendQueue, write into one segment.
//
// A sender (1) reserves tickets by moving `tail`, having first said so in its SendIntent, (2) writes each packet,
// (3) publishes it by storing the line's control word, (4) clears its intent. No step waits for another sender.
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

class SendQueue {
 public:
  SendQueue() = default;

  // `source` is the sender's local index: at most one SendQueue per source and segment.
  SendQueue(const SegmentView& segment, const GroupLayout& layout, std::uint32_t source)
      : tail_(&segment.front->header.tail), lines_(segment.lines), intent_(&segment.front->intents[source].claim),
        rooms_(segment.rooms), room_stride_(layout.room_stride()), slots_(layout.slots), source_(source),
        front_(segment.front) {}

  // Takes as many packets, in order, as there is room for, and publishes them. Never waits.
  std::size_t send(std::span<const OutgoingPacket> packets) {
    std::uint64_t ticket;
    const std::size_t count = claim(packets.size(), ticket);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t slot = (ticket + i) & (slots_ - 1);
      const std::uint32_t length = packets[i].length;
      PacketLine& line = lines_[slot];
      if (length <= kInlineBytes) {
        gather_inline(line.data, packets[i]);
      } else {
        gather(rooms_ + slot * room_stride_, packets[i]);
      }
      // Release: the packet's bytes before its announcement; pairs with the acquire in ReceiveQueue::receive().
      line.control.store(make_control(ticket + i, source_, length), std::memory_order_release);
    }
    // Release: publications before the cleared intent; pairs with the acquire in ReceiveQueue::orphaned().
    if (count != 0) intent_->store(0, std::memory_order_release);
    return count;
  }

  SegmentHeader& header() const { return front_->header; }

 private:
  // Reserves up to `wanted` tickets; the first one in `ticket`.
  std::size_t claim(std::size_t wanted, std::uint64_t& ticket) {
    ticket = tail_->load(std::memory_order_relaxed);
    for (;;) {
      std::size_t count = wanted;
      if (ticket + wanted - cached_head_ > slots_) {
        // Acquire: the owner is done with the slots below head; pairs with ReceiveQueue::publish_head().
        cached_head_ = front_->header.head.load(std::memory_order_acquire);
        const std::uint64_t used = ticket - cached_head_;
        if (used >= slots_) return 0;
        if (count > slots_ - used) count = slots_ - used;
      }
      if (count == 0) return 0;
      // Release here and in the exchange: whoever sees a tail beyond our tickets sees that we may own them, and
      // whoever sees this intent sees everything that we published under the one before.
      intent_->store(make_intent(ticket, count), std::memory_order_release);
      // Sequentially consistent: comes before our look at `armed` (shm_doorbell.cc).
      if (tail_->compare_exchange_weak(ticket, ticket + count, std::memory_order_seq_cst, std::memory_order_relaxed)) {
        return count;
      }
    }
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
  std::uint64_t cached_head_ = 0;  // at most the true head
  std::byte* rooms_ = nullptr;
  std::size_t room_stride_ = 0;
  std::uint32_t slots_ = 0;
  std::uint32_t source_ = 0;
  SegmentFront* front_ = nullptr;
};

}  // namespace openlapi::shm
