#include "dataplane/paths/path_teller.h"

#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

void PathTeller::went_silent(unsigned path, Nanoseconds now, Nanoseconds moved) {
  Silence& silence = silences_[path];
  if (silence.since != 0) return;
  silence = {.since = now,
             .moved_before = moved < now ? moved : now,
             .failed = silence.failed,
             .failed_at_home = silence.failed_at_home};
}

// Told when it is known how long nothing moved, and with the next probe after a pause at the latest.
void PathTeller::lost_link(unsigned path, Nanoseconds now, bool at_once) {
  Silence& silence = silences_[path];
  silence.link_down = true;
  if (!silence.failed && silence.moved_before == now && at_once) fail(path, PathCause::link_down, now);
}

// An answer over another path that has only just come may be followed by one over this path.
std::uint32_t PathTeller::probed(std::uint32_t paths, Nanoseconds now) {
  std::uint32_t failed = 0;
  for (unsigned path = 0; path != silences_.size(); ++path) {
    Silence& silence = silences_[path];
    if ((paths >> path & 1) == 0 || silence.since == 0) continue;
    const bool asked_in_vain =
        silence.answered_at != 0 && now - silence.answered_at >= tuning::kFirstProbePause && now >= alive_until_[path];
    const PathCause cause = silence.link_down ? PathCause::link_down : PathCause::no_answer;
    if ((asked_in_vain || (silence.link_down && now - silence.since >= tuning::kFirstProbePause)) && !silence.failed) {
      fail(path, cause, now);
      if (cause == PathCause::no_answer) failed |= 1u << path;
    }
    silence.probed = true;
    silence.answered_at = 0;
  }
  return failed;
}

void PathTeller::heard(Nanoseconds now, Nanoseconds moved, bool at_once) {
  for (unsigned path = 0; path != silences_.size(); ++path) {
    Silence& silence = silences_[path];
    if (silence.since == 0 || silence.moved_after != 0 || moved <= silence.since) continue;
    silence.moved_after = now;
    if (silence.link_down && !silence.failed && at_once) fail(path, PathCause::link_down, now);
  }
}

// What else comes over a path may have waited here since before the probe.
void PathTeller::answered(unsigned over, Nanoseconds now) {
  for (unsigned path = 0; path != silences_.size(); ++path) {
    Silence& silence = silences_[path];
    if (path != over && silence.probed && silence.answered_at == 0) silence.answered_at = now;
  }
}

void PathTeller::moves_on(unsigned path, bool from_home, bool to_home) {
  Silence& silence = silences_[path];
  const bool failed_at_home = from_home ? silence.failed : silence.failed_at_home;
  silence = {.failed = to_home && failed_at_home, .failed_at_home = failed_at_home};
}

void PathTeller::taken_over(unsigned path, Nanoseconds now) {
  Silence& silence = silences_[path];
  if (!std::exchange(silence.none_served, false)) return;
  const PathCause cause = silence.link_down ? PathCause::link_down : PathCause::no_answer;
  add({.path = path, .cause = cause, .waited = now - silence.since, .idle = now - silence.moved_before});
}

void PathTeller::serves(unsigned path, PathCause cause, Nanoseconds now) {
  const Silence silence = std::exchange(silences_[path], {});
  if (silence.failed || silence.failed_at_home) add({.path = path, .cause = cause, .waited = now - silence.since});
}

void PathTeller::forget(unsigned path) {
  if (std::exchange(silences_[path], {}).since != 0 && waiting_ && waiting_->path == path) waiting_.reset();
}

void PathTeller::begin_anew() {
  for (unsigned path = 0; path != silences_.size(); ++path) {
    const Silence& silence = silences_[path];
    if (silence.failed && silence.link_down) continue;
    forget(path);
    none_serves_ = false;
  }
  alive_until_.assign(alive_until_.size(), 0);
}

std::optional<PathTeller::Change> PathTeller::take(Nanoseconds now) {
  if (now < due()) return std::nullopt;
  not_before_ = now + tuning::kPathChangePause;
  return std::exchange(waiting_, std::nullopt);
}

bool PathTeller::tells_that_none_serves(bool none) { return !std::exchange(none_serves_, none) && none; }

void PathTeller::fail(unsigned path, PathCause cause, Nanoseconds now) {
  Silence& silence = silences_[path];
  silence.failed = true;
  ++failures_[path];
  const Nanoseconds until = silence.moved_after != 0 ? silence.moved_after : now;
  add({.path = path, .cause = cause, .waited = now - silence.since, .idle = until - silence.moved_before});
}

void PathTeller::add(const Change& change) {
  const std::uint32_t untold = waiting_ ? waiting_->untold + 1 : 0;
  waiting_ = change;
  waiting_->untold = untold;
}

}  // namespace openlapi
