// Barrier and exchange among all tasks of a context in ceil(log2 N) rounds (LAPI_Gfence, LAPI_Address_init). Passive:
// the endpoint carries the rounds' messages and tells what arrived.
//
// Barrier: dissemination; in round r a task sends to (self + 2^r) and waits for (self - 2^r).
// Exchange: Bruck's all-gather; blocks()[i] is the value of task (self + i); in round r a task sends its first
// min(2^r, N - 2^r) blocks to (self - 2^r) and appends those that come from (self + 2^r).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dataplane/transport/packet.h"

namespace openlapi {

class Collective {
 public:
  // How a round's message leaves; the bytes are copied or sent before it returns.
  class Outbox {
   public:
    virtual ~Outbox() = default;
    virtual void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                            std::span<const std::byte> bytes) = 0;
  };

  Collective(PeerIndex self, std::uint32_t tasks) : self_(self), tasks_(tasks) {}

  // Collectives of all tasks come in the same order; the n-th has sequence n. One at a time.
  void begin_barrier(Outbox& outbox);
  void begin_exchange(std::uint64_t value, Outbox& outbox);

  // A round's message is complete. It may be early: for a later round, or for a collective not begun here yet.
  void arrived(std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes, Outbox& outbox);

  bool active() const { return active_; }

  // Whether the next message that the present collective needs comes from `peer`.
  bool waits_for(PeerIndex peer) const { return active_ && peer == (exchange_ ? ahead() : behind()); }
  std::span<const std::uint64_t> exchanged() const { return result_; }  // by task

  // Gives up the present collective (a peer was lost); late messages of it are ignored.
  void abandon() { active_ = false; }

 private:
  void begin(bool exchange, Outbox& outbox);
  void send_present_round(Outbox& outbox);
  void advance(Outbox& outbox);
  bool take_blocks(std::span<const std::byte> bytes);
  void finish();
  std::uint32_t distance() const { return 1u << round_; }
  PeerIndex ahead() const { return (self_ + distance()) % tasks_; }
  PeerIndex behind() const { return (self_ + tasks_ - distance()) % tasks_; }

  PeerIndex self_;
  std::uint32_t tasks_;
  std::uint32_t sequence_ = 0;  // of the collective that was begun last
  std::uint32_t round_ = 0;
  bool active_ = false;
  bool exchange_ = false;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> result_;
  std::map<std::uint64_t, std::vector<std::byte>> early_;  // by sequence << 32 | round
};

}  // namespace openlapi
