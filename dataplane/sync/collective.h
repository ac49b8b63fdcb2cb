// Barrier and exchange among all tasks of a context in ceil(log2 N) rounds (LAPI_Gfence, LAPI_Address_init). Passive:
// the endpoint carries the messages of the rounds and reports what has arrived.
//
// Barrier: dissemination; in round r a task sends to (self + 2^r) and waits for (self - 2^r).
// Exchange: Bruck's all-gather; blocks_[i] is the value of task (self + i); in round r a task sends its first min(2^r,
// N - 2^r) blocks to (self - 2^r) and appends those that come from (self + 2^r). Then it is `filled`: all values have
// arrived, and after the caller has taken them and confirmed, the rounds of a barrier follow. So nobody's exchange ends
// before all tasks have taken the values, and a task that is ahead may use them to talk to any other.
//
// Losses. A task that cannot finish, because a peer was lost, tells the peers of the rounds that it will not send, in a
// message of round kBrokenRound, and they do the same. So whoever would wait for ever waits either for a task that was
// lost or for one that tells. The endpoint watches awaited(). A task that comes late to a collective that has failed
// here is told in answer to its rounds, since those that gave it up while it was stopped tell it nothing else.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "dataplane/transport/packet.h"

namespace openlapi {

class Collective {
 public:
  // The message contains the number of the lost task (4 bytes), or kUnknownPeer. Whom another one has given up names
  // itself: the other one lives, and is told as well.
  static constexpr std::uint32_t kBrokenRound = UINT32_MAX;

  // Sends a round's message; the bytes are copied or sent before it returns.
  class Outbox {
   public:
    virtual ~Outbox() = default;
    virtual void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                            std::span<const std::byte> bytes) = 0;
  };

  // `before_first`: the number before that of the first collective, the same in all tasks.
  Collective(PeerIndex self, std::uint32_t tasks, std::uint32_t before_first = 0)
      : self_(self), tasks_(tasks), sequence_(before_first) {}

  // All tasks call collectives in the same order; they are numbered, and the numbers wrap. One at a time.
  void begin_barrier(Outbox& outbox);
  void begin_exchange(std::uint64_t value, Outbox& outbox);
  void confirm_exchange(Outbox& outbox);  // of one that is filled

  // Begins a collective that fails at once: the others are told.
  void begin_failed(Outbox& outbox);

  // A round's message is complete. It may be early: for a later round, or for a collective that was not begun here yet.
  // False: that task has sent more early ones than allowed (tuning::kMostEarlyRounds), and this one is not kept.
  bool arrived(PeerIndex from, std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes,
               Outbox& outbox);
  std::size_t early_rounds_of(PeerIndex peer) const;

  bool active() const { return active_; }
  // An exchange that has all values and waits to be confirmed. It is still active.
  bool filled() const { return active_ && exchange_ && !confirmed_ && round_ == value_rounds(); }
  // The result of the latest collective.
  bool failed() const { return failed_; }
  PeerIndex lost_peer() const { return lost_peer_; }  // kUnknownPeer: not known, or some task has purged it

  // The task that the next message of the present collective comes from, while it is active.
  PeerIndex awaited() const { return carries_values() ? ahead() : behind(); }
  bool waits_for(PeerIndex peer) const { return active_ && peer == awaited(); }
  std::span<const std::uint64_t> exchanged() const { return result_; }  // by task; of the latest one that was filled

  // Gives up the present collective, if one is active, because of `lost`; its late messages are ignored.
  void fail(PeerIndex lost, Outbox& outbox);

 private:
  void begin(bool exchange, Outbox& outbox);
  void send_present_round(Outbox& outbox);
  void advance(Outbox& outbox);
  bool take_blocks(std::span<const std::byte> bytes);
  bool take_failure(Outbox& outbox);
  void tell_late(PeerIndex late, std::uint32_t sequence, Outbox& outbox);
  void order_values();
  // ceil(log2 N): rounds of an exchange that carry values, or of a barrier.
  std::uint32_t value_rounds() const { return static_cast<std::uint32_t>(std::bit_width(tasks_ - 1)); }
  std::uint32_t all_rounds() const { return exchange_ ? 2 * value_rounds() : value_rounds(); }
  bool carries_values() const { return exchange_ && round_ < value_rounds(); }
  std::uint32_t distance() const { return 1u << (round_ < value_rounds() ? round_ : round_ - value_rounds()); }
  PeerIndex ahead() const { return (self_ + distance()) % tasks_; }
  PeerIndex behind() const { return (self_ + tasks_ - distance()) % tasks_; }
  PeerIndex receiver() const { return carries_values() ? behind() : ahead(); }

  PeerIndex self_;
  std::uint32_t tasks_;
  std::uint32_t sequence_;  // of the latest collective
  std::uint32_t round_ = 0;
  bool active_ = false;
  bool exchange_ = false;
  bool confirmed_ = false;
  bool failed_ = false;
  bool round_sent_ = false;  // the message of the present round
  PeerIndex lost_peer_ = kUnknownPeer;
  std::vector<std::uint64_t> blocks_;
  std::vector<std::uint64_t> result_;
  // By sequence, round and sender, so that a message from the wrong sender does not replace the right one.
  struct EarlyKey {
    std::uint64_t round;  // sequence << 32 | round
    PeerIndex from;
    auto operator<=>(const EarlyKey&) const = default;
  };
  using EarlyRounds = std::map<EarlyKey, std::vector<std::byte>>;
  template <typename Predicate>
  void forget_early(Predicate predicate);
  void forget_early_round(EarlyRounds::iterator entry);
  EarlyRounds early_;
  std::map<PeerIndex, std::size_t> early_of_;   // how many of early_, by sender
  std::map<PeerIndex, std::size_t> told_late_;  // how often each task was told since the latest collective began
};

}  // namespace openlapi
