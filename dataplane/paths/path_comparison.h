// Which of the paths that serve is the quickest. While little is sent it leaves over one of them, so that nothing else
// tells of the others. Now and then, when enough has left, probes of all paths leave together, and the shortest of a
// few round trips over each counts. Passive, as PathWatch.
#pragma once

#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"

namespace openlapi {

class PathComparison {
 public:
  explicit PathComparison(unsigned paths) : probes_(paths), due_(paths > 1 ? 0 : UINT64_MAX) {}

  // When begins() is to be asked next.
  Nanoseconds due() const { return due_; }
  // Whether probes are to leave now. `packets` were sent to the peer so far.
  bool begins(std::uint64_t packets, Nanoseconds now);
  void probed(unsigned path, Nanoseconds now) { probes_[path].sent_at = now; }
  // True: all paths have been measured. Then forget() begins anew.
  bool answered(unsigned path, Nanoseconds now);
  Nanoseconds round_trip(unsigned path) const { return probes_[path].round_trip; }  // the shortest measured
  void forget();

 private:
  struct Probe {
    Nanoseconds sent_at = 0;  // 0: none is unanswered
    Nanoseconds round_trip = UINT64_MAX;
  };

  std::vector<Probe> probes_;
  Nanoseconds due_;
  std::uint64_t packets_ = 0;  // when the latest probes left
  unsigned rounds_ = 0;        // of probes that have left
};

}  // namespace openlapi
