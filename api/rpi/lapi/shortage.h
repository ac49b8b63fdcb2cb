// For how long a receiver that was in calls of MPI has had no memory for a message.
#pragma once

#include <algorithm>
#include <cstdint>

#include "dataplane/base/clock.h"

namespace openlapi::rpi {

class Shortage {
 public:
  // A message has come. Shorter ones behind the one that waits say nothing of it.
  void note(bool is_short, std::uint64_t length, Nanoseconds now) {
    if (!is_short && length >= length_) since_ = 0;
    if (!is_short || since_ != 0) return;
    since_ = now;
    length_ = length;
  }

  // Until there is memory for that message. Where it has not begun, a message that has its memory need not be noted.
  bool has_begun() const { return since_ != 0; }

  // Whether no memory is to be hoped for, at a look. Calls of MPI look every second or so: after more than two the
  // program has computed, and could not free anything for messages.
  bool lasts_too_long(Nanoseconds last_look, Nanoseconds now) {
    if (since_ == 0) return false;
    if (now - last_look > kLongestInCalls) since_ = std::min(since_ + (now - last_look), now);
    return now - since_ >= kMost;
  }

 private:
  static constexpr Nanoseconds kMost = 10 * kSecond;  // no other message can come before the one that waits
  static constexpr Nanoseconds kLongestInCalls = 2 * kSecond;

  Nanoseconds since_ = 0;     // 0: there is memory
  std::uint64_t length_ = 0;  // of the message that waits
};

}  // namespace openlapi::rpi
