#include "dataplane/paths/path_watch.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dataplane/tuning.h"

namespace openlapi {

void PathWatch::went_silent(unsigned path, Nanoseconds now) {
  if (!is_silent(path)) {
    silent_ |= 1u << path;
    Probing& probing = paths_[path];
    const bool was_elsewhere = (elsewhere_ >> path & 1) != 0;  // the pause is that of probes of its home
    if (probing.pause == 0 || was_elsewhere) probing.pause = tuning::kFirstProbePause;
    probing.at = now + probing.pause;
    find_next_probe();
  }
  if (path != best_) return;
  do {
    best_ = (best_ + 1) % static_cast<unsigned>(paths_.size());
  } while (!is_there(best_) && best_ != path);
  choose();
}

std::uint32_t PathWatch::note_link(unsigned path, std::uint32_t words) {
  links_down_ = words != 0 ? links_down_ | 1u << path : links_down_ & ~(1u << path);
  return std::exchange(words_[path], words);
}

bool PathWatch::link_is_said(unsigned path, std::uint32_t words, Nanoseconds now) {
  const std::uint32_t before = note_link(path, words);
  if ((words & ~before) != 0) {
    asked_ &= ~(1u << path);
    if (!is_silent(path)) paths_[path].pause = 0;
    went_silent(path, now);
    return true;
  }
  if (words == before || !is_silent(path)) return false;
  paths_[path] = {.at = now, .pause = tuning::kFirstProbePause / 2};  // the neighbours may need a moment to see it
  find_next_probe();
  return false;
}

void PathWatch::probe_silent(Nanoseconds now) {
  for (unsigned path = 0; path != paths_.size(); ++path) {
    if (is_silent(path)) paths_[path] = {.at = now, .pause = tuning::kFirstProbePause / 2};
  }
  find_next_probe();
}

bool PathWatch::answered(unsigned path) {
  if ((links_down_ & ~asked_) >> path & 1) return false;
  return end_silence(path);
}

void PathWatch::leads_elsewhere(unsigned path, Nanoseconds now) {
  if ((elsewhere_ >> path & 1) != 0) return;
  elsewhere_ |= 1u << path;
  Probing& probing = paths_[path];
  if (probing.at == UINT64_MAX) probing = {.at = now + tuning::kFirstProbePause, .pause = tuning::kFirstProbePause};
  find_next_probe();
}

void PathWatch::leads_home(unsigned path) {
  if ((elsewhere_ >> path & 1) == 0) return;
  elsewhere_ &= ~(1u << path);
  if (!is_silent(path)) paths_[path].at = UINT64_MAX;
  find_next_probe();
}

void PathWatch::leads_over(unsigned path, std::uint32_t words) {
  note_link(path, words);
  asked_ |= 1u << path;
}

bool PathWatch::carried_data(unsigned path) {
  if (is_silent(path) && (links_down_ >> path & 1) != 0) return false;
  if ((elsewhere_ >> path & 1) == 0) paths_[path].pause = 0;
  return end_silence(path);
}

bool PathWatch::end_silence(unsigned path) {
  if (!is_silent(path)) return false;
  silent_ &= ~(1u << path);
  if ((elsewhere_ >> path & 1) == 0) paths_[path].at = UINT64_MAX;
  find_next_probe();
  choose();
  return true;
}

// While all are silent it stays as it is: whoever sees that it does not serve moves on.
void PathWatch::choose() {
  const auto first = static_cast<unsigned>(std::countr_one(silent_));
  if (!is_silent(preferred_)) {
    best_ = preferred_;
  } else if (first < paths_.size()) {
    best_ = first;
  }
}

void PathWatch::prefer(unsigned path) {
  preferred_ = path;
  choose();
}

std::uint32_t PathWatch::take_due(Nanoseconds now) {
  std::uint32_t due = 0;
  if (now < next_probe_) return due;
  for (std::size_t path = 0; path != paths_.size(); ++path) {
    Probing& probing = paths_[path];
    if (now < probing.at) continue;
    due |= 1u << path;
    asked_ |= 1u << path;
    probing.pause = std::min(2 * probing.pause, tuning::kLongestProbePause);
    probing.at = now + probing.pause;
  }
  find_next_probe();
  return due;
}

void PathWatch::probe_again(unsigned path, Nanoseconds now) {
  Probing& probing = paths_[path];
  probing.at = now + std::max(probing.pause / 16, tuning::kFirstProbePause);
  find_next_probe();
}

void PathWatch::find_next_probe() {
  next_probe_ = UINT64_MAX;
  for (const Probing& probing : paths_) next_probe_ = std::min(next_probe_, probing.at);
}

}  // namespace openlapi
