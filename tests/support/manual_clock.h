// A clock that a test turns by hand.
#pragma once

#include "dataplane/base/clock.h"

namespace openlapi {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(Nanoseconds start = kSecond) : now_(start) {}
  Nanoseconds now() const override { return now_; }
  void advance(Nanoseconds by) { now_ += by; }
  void set(Nanoseconds now) { now_ = now > now_ ? now : now_; }  // never goes back

 private:
  Nanoseconds now_;
};

}  // namespace openlapi
