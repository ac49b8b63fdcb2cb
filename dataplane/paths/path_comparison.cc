#include "dataplane/paths/path_comparison.h"

#include <algorithm>
#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

// An answer that has not come may come when the next one is waited for, so that all begins anew after a pause.
bool PathComparison::begins(std::uint64_t packets, Nanoseconds now) {
  due_ = now + tuning::kComparisonPause;
  if (std::ranges::any_of(probes_, [](const Probe& probe) { return probe.sent_at != 0; })) {
    forget();
    return false;
  }
  if (packets - packets_ < tuning::kComparisonPackets) return false;
  packets_ = packets;
  ++rounds_;
  return true;
}

bool PathComparison::answered(unsigned path, Nanoseconds now) {
  Probe& probe = probes_[path];
  if (probe.sent_at == 0) return false;
  const Nanoseconds round_trip = std::max<Nanoseconds>(now - std::exchange(probe.sent_at, 0), 1);
  probe.round_trip = std::min(probe.round_trip, round_trip);
  return rounds_ >= tuning::kComparisonRounds &&
         std::ranges::all_of(probes_, [](const Probe& of) { return of.sent_at == 0 && of.round_trip != UINT64_MAX; });
}

void PathComparison::forget() {
  std::ranges::fill(probes_, Probe{});
  rounds_ = 0;
}

}  // namespace openlapi
