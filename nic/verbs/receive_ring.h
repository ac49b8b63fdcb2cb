// The memory that packets arrive in: equal slots, each posted to the queue pair, or held by the engine, or idle.
//
// A datagram is preceded by 40 bytes for a global route header, whether it has one or not; a slot is laid out so that
// the packet after it begins at a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nic/verbs/registered_memory.h"

namespace openlapi::verbs {

class ReceiveRing {
 public:
  static constexpr std::uint32_t kRouteHeader = 40;  // bytes before each packet

  // `packet` is the longest packet. 0, or the error number.
  int open(ibv_pd& domain, std::uint32_t slots, std::uint32_t packet);

  // Posts idle slots if there are enough of them to be worth it, or too few posted.
  void post(ibv_qp& queue_pair) {
    if (idle_.size() >= kBatch || posted_ < kFewPosted) post_idle(queue_pair);
  }

  std::byte* packet_of(std::uint32_t slot) const { return memory_.data() + slot * stride_ + kLine; }

  // The slot has completed: with a packet that is handed out now, or with nothing of use.
  void hold(std::uint32_t slot);
  void discard(std::uint32_t slot);

  // Gives the oldest `count` held slots back.
  void release(std::size_t count);

  // The queue pair was reset: it has none of the slots any more.
  void forget_posted();

  std::uint32_t slots() const { return static_cast<std::uint32_t>(is_posted_.size()); }

 private:
  static constexpr std::uint32_t kLine = 64;
  static constexpr std::uint32_t kBatch = 32;      // slots: one doorbell for so many
  static constexpr std::uint32_t kFewPosted = 64;  // slots

  void post_idle(ibv_qp& queue_pair);
  void leave_queue(std::uint32_t slot);

  RegisteredMemory memory_;
  std::size_t stride_ = 0;
  std::uint32_t posted_ = 0;
  std::vector<std::uint8_t> is_posted_;
  std::vector<std::uint32_t> idle_;  // capacity for all slots
  std::vector<std::uint32_t> held_;  // a ring, oldest at first_held_
  std::size_t first_held_ = 0;
  std::size_t held_count_ = 0;
  std::vector<ibv_recv_wr> requests_;  // of each slot
  std::vector<ibv_sge> pieces_;
};

}  // namespace openlapi::verbs
