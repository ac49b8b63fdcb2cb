// What of a peer's paths is worth telling to people. A time-out alone is not: a task that computes, or gets no
// processor, answers over no path. A path has failed when a probe of it stays unanswered although the peer, asked over
// another path at the same time, has answered there; and it serves again when it has failed before. Passive: the time
// is an argument.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/host/path_status.h"

namespace openlapi {

class PathTeller {
 public:
  struct Change {
    unsigned path = 0;
    PathCause cause = PathCause::no_answer;
    Nanoseconds waited = 0, idle = 0;
    std::uint32_t untold = 0;
  };

  explicit PathTeller(unsigned paths) : silences_(paths), failures_(paths), alive_until_(paths) {}

  // The path's time-out has run out. `moved`: when something was last acknowledged, or the oldest packet was sent.
  void went_silent(unsigned path, Nanoseconds now, Nanoseconds moved);
  // The system says that the path's link is down. It is silent already. `at_once`: whoever is told needs not
  // know what takes over, if nothing is under way; else that is known soon.
  void lost_link(unsigned path, Nanoseconds now, bool at_once = true);
  // The silent paths among these, as bits, are probed now, and so is the one that serves. Returns those that are found
  // to have failed although nobody says so of their links: whoever can looks into each of them, told or not.
  std::uint32_t probed(std::uint32_t paths, Nanoseconds now);
  // Something has come from the peer. `moved`: as above; UINT64_MAX: nothing waits any more. `at_once`: as above.
  void heard(Nanoseconds now, Nanoseconds moved, bool at_once = true);
  // The peer has answered a probe over the path; kElsewhere: over none of those that are silent.
  static constexpr unsigned kElsewhere = UINT32_MAX;
  void answered(unsigned over, Nanoseconds now);
  // Something has come over the path that answers may wait behind until then: it has not failed.
  void is_alive(unsigned path, Nanoseconds until) { alive_until_[path] = until; }
  // The path leads elsewhere than when its latest silence began: what is to be told from now on is of there. That it
  // failed at home stays so until it serves there.
  void moves_on(unsigned path, bool from_home, bool to_home);
  // Of the path's failure it was told that no path serves; and now it does, elsewhere.
  void told_that_none_serves(unsigned path) { silences_[path].none_served = true; }
  void taken_over(unsigned path, Nanoseconds now);
  // The silence of the path has ended.
  void serves(unsigned path, PathCause cause, Nanoseconds now);
  // The path is not silent, and nothing is to be told of it.
  void forget(unsigned path);
  // Nothing is known of any path any more, but of those that were found to have failed because their links are down:
  // until forget() that is so, and it is not told again.
  void begin_anew();

  Nanoseconds silent_since(unsigned path) const { return silences_[path].since; }  // 0: it is not silent
  std::uint64_t failures(unsigned path) const { return failures_[path]; }          // so far, told or not
  // More than silent, also when that was not told yet.
  bool has_failed(unsigned path) const { return silences_[path].failed || silences_[path].link_down; }

  // When there is something to tell: at most one change in tuning::kPathChangePause, the latest. UINT64_MAX: never.
  Nanoseconds due() const { return waiting_ ? not_before_ : UINT64_MAX; }
  std::optional<Change> take(Nanoseconds now);
  // Told with the change that was taken last: whether none serves. True: that is so, and was not told with the one
  // before.
  bool tells_that_none_serves(bool none);

 private:
  struct Silence {
    Nanoseconds since = 0;
    Nanoseconds moved_before = 0;
    Nanoseconds moved_after = 0;  // 0: nothing was acknowledged since it began
    bool probed = false;
    Nanoseconds answered_at = 0;  // over another path, first after the latest probe; 0: it was not answered
    bool link_down = false;
    bool failed = false;
    bool failed_at_home = false;  // before it moved on
    bool none_served = false;     // was told
  };

  void fail(unsigned path, PathCause cause, Nanoseconds now);
  void add(const Change& change);

  std::vector<Silence> silences_;
  std::vector<std::uint64_t> failures_;
  std::vector<Nanoseconds> alive_until_;
  std::optional<Change> waiting_;
  bool none_serves_ = false;  // as was told last
  Nanoseconds not_before_ = 0;
};

}  // namespace openlapi
