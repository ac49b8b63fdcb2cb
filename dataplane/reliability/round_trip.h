// Round-trip estimate and retransmission time-out of one channel (RFC 6298, in nanoseconds). Only packets that were sent
// once are measured (Karn), and the receiver's own delay is taken off.
#pragma once

#include "dataplane/base/clock.h"

namespace openlapi {

class RoundTrip {
 public:
  void sample(Nanoseconds measured);

  // The timer ran out once more without an answer: waits twice as long from now on, up to the bound in tuning.h.
  void back_off();
  // Something new was acknowledged: the time-out follows the estimate again.
  void reset_back_off() { back_offs_ = 0; }

  Nanoseconds timeout() const { return timeout_ << back_offs_ < longest() ? timeout_ << back_offs_ : longest(); }
  Nanoseconds smoothed() const { return smoothed_; }  // 0: nothing measured yet
  Nanoseconds shortest() const { return shortest_; }  // ever measured; 0: nothing measured yet
  Nanoseconds reorder_time() const;                   // how much later a packet may overtake another
  unsigned back_offs() const { return back_offs_; }

 private:
  static Nanoseconds longest();

  Nanoseconds smoothed_ = 0;
  Nanoseconds variation_ = 0;
  Nanoseconds shortest_ = 0;
  Nanoseconds timeout_ = first_timeout();
  unsigned back_offs_ = 0;

  static Nanoseconds first_timeout();
};

}  // namespace openlapi
