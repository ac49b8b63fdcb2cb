// Barrier and exchange among all tasks of a context in ceil(log2 N) rounds (LAPI_Gfence, LAPI_Address_init). Passive:
// the endpoint carries the rounds' messages and tells what arrived.
//
// Barrier: dissemination; in round r a task sends to (self + 2^r) and waits for (self - 2^r).
// Exchange: Bruck's all-gather; blocks()[i] is the value of task (self + i); in round r a task sends its first
// min(2^r, N - 2^r) blocks to (self - 2^r) and appends those that come from (self + 2^r).
//
// Losses. A task that cannot finish (a peer was lost) tells the peers of the rounds that it will not send, in a message
// of round kBrokenRound, and so do they: everybody who would wait for ever waits for one who was lost or for one who
// tells. The endpoint watches awaited().
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
  // Its message is the number of the task that was lost (4 bytes), or kUnknownPeer.
  static constexpr std::uint32_t kBrokenRound = UINT32_MAX;

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

  // Begins one that fails at once: the others are told.
  void begin_failed(Outbox& outbox);

  // A round's message is complete. It may be early: for a later round, or for a collective not begun here yet.
  void arrived(std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes, Outbox& outbox);

  bool active() const { return active_; }
  // How the one that was begun last has ended.
  bool failed() const { return failed_; }
  PeerIndex lost_peer() const { return lost_peer_; }  // kUnknownPeer: not known, or purged by somebody

  // Whom the next message that the present collective needs comes from, while it is active.
  PeerIndex awaited() const { return exchange_ ? ahead() : behind(); }
  bool waits_for(PeerIndex peer) const { return active_ && peer == awaited(); }
  std::span<const std::uint64_t> exchanged() const { return result_; }  // by task

  // Gives up the present collective because of `lost`, if one is active; late messages of it are ignored.
  void fail(PeerIndex lost, Outbox& outbox);

 private:
  void begin(bool exchange, Outbox& outbox);
  void send_present_round(Outbox& outbox);
  void advance(Outbox& outbox);
  bool take_blocks(std::span<const std::byte> bytes);
  bool take_failure(Outbox& outbox);
  void finish();
  std::uint32_t distance() const { return 1u << round_; }
  PeerIndex ahead() const { return (self_ + distance()) % tasks_; }
  PeerIndex behind() const { return (self_ + tasks_ - distance()) % tasks_; }
  PeerIndex receiver() const { return exchange_ ? behind() : ahead(); }

  PeerIndex self_;
  std::uint32_t tasks_;
  std::uint32_t sequence_ = 0;  // of the collective that was begun last
  std::uint32_t round_ = 0;
  bool active_ = false;
  bool exchange_ = false;
  bool failed_ = false;
  bool round_sent_ = false;  // the present round's message
  PeerIndex lost_peer_ = kUnknownPeer;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> result_;
  std::map<std::uint64_t, std::vector<std::byte>> early_;  // by sequence << 32 | round
};

}  // namespace openlapi
