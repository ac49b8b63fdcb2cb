// Round-trip estimate and retransmission time-out of one channel (RFC 6298, in nanoseconds). Only packets that were
// sent once are measured (Karn), and the receiver's own delay is subtracted.
#pragma once

#include <algorithm>

#include "dataplane/base/clock.h"
#include "dataplane/tuning.h"

namespace openlapi {

class RoundTrip {
 public:
  void sample(Nanoseconds measured);
  // Whatever the shortest one was before.
  void renew_shortest(Nanoseconds measured) { shortest_ = measured; }

  // The timer expired once more without an answer: from now on it waits twice as long, up to the limit in tuning.h.
  void back_off();
  // A packet that was sent once was acknowledged: the time-out follows the estimate again.
  void reset_back_off() { back_offs_ = 0; }

  Nanoseconds timeout() const { return std::min(timeout_ << back_offs_, tuning::kLongestRetransmitTimeout); }
  Nanoseconds smoothed() const { return smoothed_; }  // 0: nothing measured yet
  Nanoseconds shortest() const { return shortest_; }  // since it was renewed; 0: nothing measured yet
  Nanoseconds latest() const { return latest_; }
  unsigned back_offs() const { return back_offs_; }

  // How much later a packet may be sent and still overtake another one.
  Nanoseconds patience() const { return smoothed_ + reorder_time(); }
  Nanoseconds reorder_time() const { return std::max(smoothed_ / 4, tuning::kShortestReorderTime); }

 private:
  Nanoseconds smoothed_ = 0;
  Nanoseconds variation_ = 0;
  Nanoseconds shortest_ = 0;
  Nanoseconds latest_ = 0;
  Nanoseconds timeout_ = tuning::kFirstRetransmitTimeout;
  unsigned back_offs_ = 0;
};

}  // namespace openlapi
