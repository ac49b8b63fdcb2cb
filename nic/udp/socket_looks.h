// When a transport looks at its socket. Each look is a system call, and the transports of a context are polled one
// after the other: where only one of them hears anything, the looks at the others would make every poll so much longer.
// So a socket that has been silent for a while is looked at after pauses, as long as another socket of the context is
// not silent. Sleepers are woken by all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "dataplane/base/monotonic_clock.h"

namespace openlapi::udp {

class SocketLooks;

// Shared by the transports of a context, which the engine's lock serializes.
struct SocketsOfContext {
  const SocketLooks* heard_last = nullptr;
};

class SocketLooks {
 public:
  static constexpr unsigned kSilentAfter = 256;  // looks in vain: some 50 us of polling two sockets
  static constexpr Nanoseconds kPause = 32 * kMicrosecond;

  // `sockets` null: there is no other socket. The clock outlives it; null: its own.
  explicit SocketLooks(std::shared_ptr<SocketsOfContext> sockets, const Clock* clock = nullptr)
      : sockets_(std::move(sockets)), clock_(clock) {}
  ~SocketLooks() {
    if (sockets_ != nullptr && sockets_->heard_last == this) sockets_->heard_last = nullptr;
  }
  SocketLooks(const SocketLooks&) = delete;
  SocketLooks& operator=(const SocketLooks&) = delete;

  // Whether to look now.
  bool is_due() { return !is_silent() || sockets_ == nullptr || !another_is_heard() || has_paused(); }
  // What a look has brought.
  void found(bool something) {
    ++count_;
    in_vain_ = something ? 0 : in_vain_ + !is_silent();
    if (something && sockets_ != nullptr) sockets_->heard_last = this;
  }
  // The next look is due at once: whoever asks is about to sleep, or was woken.
  void look_soon() { next_ = 0; }

  std::uint64_t count() const { return count_; }  // looks so far

 private:
  bool is_silent() const { return in_vain_ >= kSilentAfter; }
  bool another_is_heard() const {
    const SocketLooks* const last = sockets_->heard_last;
    return last != nullptr && last != this && !last->is_silent();
  }
  bool has_paused() {
    const Nanoseconds now = clock_ != nullptr ? clock_->now() : own_clock_.now();
    if (now < next_) return false;
    next_ = now + kPause;
    return true;
  }

  const std::shared_ptr<SocketsOfContext> sockets_;
  const Clock* const clock_;
  const MonotonicClock own_clock_;
  unsigned in_vain_ = 0;
  Nanoseconds next_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace openlapi::udp
