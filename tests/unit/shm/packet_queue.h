// One task's queue, its three senders, and the moments at which one of them may die.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "shm/receive_queue.h"
#include "shm/send_queue.h"

namespace openlapi::shm {

inline constexpr PeerIndex kTasks[] = {10, 20, 30};

class PacketQueue : public testing::Test {
 protected:
  PacketQueue() : memory_(GroupMemory::create(layout_, 1, 10, error_)) {}

  bool send(std::uint32_t source, std::uint64_t value) {
    const ConstBuffer piece{&value, sizeof value};
    const OutgoingPacket packet{{&piece, 1}, sizeof value};
    return senders_[source].send({&packet, 1}) == 1;
  }

  // The value of the next packet; 0: none.
  std::uint64_t receive() {
    IncomingPacket packet{};
    if (queue_.receive({&packet, 1}) == 0) return 0;
    std::uint64_t value;
    std::memcpy(&value, packet.data, sizeof value);
    queue_.release(1);
    return value;
  }

  // Does what SendQueue::claim() does, and then no more.
  void claim_and_die(std::uint32_t source, std::uint64_t count, bool claimed = true) {
    const std::uint64_t ticket = segment_.header->tail.load();
    segment_.senders[source].claim.store(make_intent(ticket, count));
    if (claimed) segment_.header->tail.store(ticket + count);
    dead_.insert(source);
  }

  std::size_t skip() {
    return queue_.skip_orphans([this](std::uint32_t source) { return dead_.count(source) != 0; });
  }

  ShmSetupError error_;
  const GroupLayout layout_{3, 8, 64};
  GroupMemory memory_;
  SegmentView segment_ = memory_.segment(0);
  SendQueue senders_[3] = {{segment_, layout_, 0}, {segment_, layout_, 1}, {segment_, layout_, 2}};
  ReceiveQueue queue_{segment_, layout_, kTasks};
  std::set<std::uint32_t> dead_;
};

}  // namespace openlapi::shm
