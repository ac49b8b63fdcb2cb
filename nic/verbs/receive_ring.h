// The memory that packets arrive in: equal slots, each of which is posted to a queue, held by the engine, or idle. The
// queue belongs to one queue pair or is shared by many.
//
// 40 bytes for a global route header precede each datagram, whether it has one or not; slots are laid out so that the
// packet behind them begins at a cache line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/check.h"
#include "nic/verbs/registered_memory.h"

namespace openlapi::verbs {

class ReceiveRing {
 public:
  static constexpr std::uint32_t kRouteHeader = 40;  // bytes before each datagram
  static constexpr std::uint32_t kLine = 64;
  static constexpr std::size_t bytes_of_slot(std::uint32_t packet) {
    return kLine + (packet + kLine - 1) / kLine * kLine;
  }

  // `packet`: length of the longest packet; `header`: bytes that arrive before it. Slot numbers are posted with `bit`
  // set. Where memory is short there are fewer slots, halved down to kFewestReceiveSlots. Returns 0 or an errno value.
  int open(ibv_pd& domain, std::uint32_t slots, std::uint32_t packet, std::uint32_t header, std::uint64_t bit);

  // Where slots are posted from now on; call one of the two.
  void post_to(ibv_qp& queue_pair) { queue_pair_ = &queue_pair; }
  void post_to(ibv_srq& shared) { shared_ = &shared; }

  // Posts the idle slots if there are enough to be worth it, or if few are posted.
  void post() {
    if (idle_.size() >= kBatch || posted_ < kFewPosted) post_idle();
  }

  std::byte* packet_of(std::uint32_t slot) const { return memory_.data() + slot * stride_ + kLine; }

  // The slot has completed: the queue no longer has it.
  void take(std::uint32_t slot) {
    OPENLAPI_CHECK(slot < slots() && is_posted_[slot] != 0);
    is_posted_[slot] = 0;
    --posted_;
  }
  // A slot that was taken is free again.
  void give_back(std::uint32_t slot) { idle_.push_back(slot); }
  void discard(std::uint32_t slot) {
    take(slot);
    give_back(slot);
  }

  // The queue was reset and has none of the slots any more.
  void forget_posted();

  std::uint32_t slots() const { return static_cast<std::uint32_t>(is_posted_.size()); }
  std::uint32_t posted() const { return posted_; }
  std::uint32_t idle() const { return static_cast<std::uint32_t>(idle_.size()); }

 private:
  static constexpr std::uint32_t kBatch = 32;      // slots posted with one doorbell
  static constexpr std::uint32_t kFewPosted = 64;  // slots

  void post_idle();

  ibv_qp* queue_pair_ = nullptr;
  ibv_srq* shared_ = nullptr;
  RegisteredMemory memory_;
  std::size_t stride_ = 0;
  std::uint32_t posted_ = 0;
  std::vector<std::uint8_t> is_posted_;
  std::vector<std::uint32_t> idle_;    // has room for all slots
  std::vector<ibv_recv_wr> requests_;  // one per slot
  std::vector<ibv_sge> pieces_;
};

// The numbers of the slots that the engine holds, of all rings together, in the order in which it returns them.
class HeldSlots {
 public:
  explicit HeldSlots(std::size_t most = 0) : slots_(most) {}

  void push(std::uint64_t number) {
    std::size_t end = first_ + count_;
    if (end >= slots_.size()) end -= slots_.size();
    slots_[end] = number;
    ++count_;
  }
  std::uint64_t pop() {
    const std::uint64_t number = slots_[first_];
    if (++first_ == slots_.size()) first_ = 0;
    --count_;
    return number;
  }
  std::size_t size() const { return count_; }

 private:
  std::vector<std::uint64_t> slots_;  // a ring, oldest at first_
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

}  // namespace openlapi::verbs
