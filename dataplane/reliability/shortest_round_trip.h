// Whether a path's shortest round trip is still what it was, or the way has become longer: other routers, or a peer
// that takes longer to answer. While much is sent nothing shows it, because packets wait for those before them. So when
// none was as short for a while, so little is left in flight that none waits (as BBR does), and what is sent then
// tells.
#pragma once

#include "dataplane/base/clock.h"
#include "dataplane/reliability/round_trip.h"
#include "dataplane/tuning.h"

namespace openlapi {

class ShortestRoundTrip {
 public:
  // After RoundTrip::sample() of a packet that left `age` ago. True: what may be in flight has changed.
  bool sampled(RoundTrip& round_trip, Nanoseconds age, Nanoseconds now) {
    const Nanoseconds latest = round_trip.latest();
    if (seen_at_ == 0 || latest <= round_trip.shortest() + round_trip.shortest() / 4) return found(now);
    if (looks_since_ == 0) {
      if (now - seen_at_ < tuning::kShortestRoundTripAge) return false;
      looks_since_ = now;
      return true;
    }
    if (now - age <= looks_since_) return false;  // it was sent before
    round_trip.renew_shortest(latest);
    return found(now);
  }
  // No more may be in flight than the path brings in its shortest round trip.
  bool is_looked_for() const { return looks_since_ != 0; }

 private:
  bool found(Nanoseconds now) {
    seen_at_ = now;
    const bool looked = is_looked_for();
    looks_since_ = 0;
    return looked;
  }

  Nanoseconds seen_at_ = 0;      // or one that was little longer; 0: never
  Nanoseconds looks_since_ = 0;  // 0: it is not looked for
};

}  // namespace openlapi
