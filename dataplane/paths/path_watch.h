// Which of the paths to a peer serve. A path is silent from when its retransmission time-out runs out, or its link is
// said to be down, until it answers a probe or something that was sent over it is acknowledged. Passive: it knows no
// packets, and the time is an argument.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/transport/link_status.h"

namespace openlapi {

class PathWatch {
 public:
  explicit PathWatch(unsigned paths) : paths_(paths), words_(paths) {}

  // The path that new packets take while there are few: the preferred one, else the first one that is not silent; if
  // all are, each in turn that is there.
  unsigned best() const { return best_; }
  // This one is the quickest; at first that is said of the first one.
  void prefer(unsigned path);
  bool any_silent() const { return silent_ != 0; }
  bool all_silent() const { return silent_ == (1u << paths_.size()) - 1; }
  // The paths, as bits, that carry together: all that are not silent; if all are, the one that is tried.
  std::uint32_t serving() const {
    const std::uint32_t heard = ~silent_ & ((1u << paths_.size()) - 1);
    return heard != 0 ? heard : 1u << best_;
  }
  bool is_silent(unsigned path) const { return (silent_ >> path & 1) != 0; }
  bool is_link_down(unsigned path) const { return (links_down_ >> path & 1) != 0; }
  // False: as far as is said it leads to nobody yet.
  bool is_there(unsigned path) const { return (words_[path] & LinkStatus::kNotThereYet) == 0; }
  // While all are silent, as where the peer computes, nothing is known against any.
  bool may_serve(unsigned path) const { return !is_silent(path) || (is_silent(best_) && !is_link_down(path)); }

  // The path's time-out has run out. It is probed from now on.
  void went_silent(unsigned path, Nanoseconds now);

  // What is said of the path's link from outside of the traffic, perhaps not for the first time. `words`: who says that
  // it is down, as bits (LinkStatus). If any of them has not said so before, that makes the path silent, which is
  // probed soon, however often it was before: what is said may be wrong. If any of them says so no more, it is probed
  // at once. True: somebody has not said so before.
  bool link_is_said(unsigned path, std::uint32_t words, Nanoseconds now);
  // The peer is elsewhere on all paths, perhaps, or has learnt that we are: those that are silent are probed at once.
  void probe_silent(Nanoseconds now);

  // The path leads to another adapter of the peer than at home, or does so no more. While it does its home is probed,
  // whether the path is silent or not.
  void leads_elsewhere(unsigned path, Nanoseconds now);
  void leads_home(unsigned path);
  bool is_elsewhere(unsigned path) const { return (elsewhere_ >> path & 1) != 0; }
  // What is said of the link to where the path leads now, which is no news: packets that have come from there tell
  // more, so that the path is not silent for this, and any answer ends its silence.
  void leads_over(unsigned path, std::uint32_t words);

  // The path has answered a probe; since its link is down, if that is said, it has to be one that was due since then.
  // True: it was silent.
  bool answered(unsigned path);
  // A packet of data that was sent over it, and over it alone, was acknowledged, as long as any that it has lost. That
  // ends no silence while the link is said to be down: it may have arrived before. True: it was silent.
  bool carried_data(unsigned path);

  Nanoseconds next_probe() const { return next_probe_; }  // UINT64_MAX: none
  // The paths that are to be probed now, as bits. Each is probed again after a pause that doubles.
  std::uint32_t take_due(Nanoseconds now);
  // That probe has not left: it is due again before its pause is over.
  void probe_again(unsigned path, Nanoseconds now);

 private:
  struct Probing {
    Nanoseconds at = UINT64_MAX;
    // Until the next probe. It is not reset by an answer, which is short: a path that answers and carries no data
    // would be tried again and again. Word of the link, or of addresses, which is no sign of that, resets it.
    Nanoseconds pause = 0;
  };

  // Who said before that the path's link is down.
  std::uint32_t note_link(unsigned path, std::uint32_t words);
  bool end_silence(unsigned path);
  void choose();
  void find_next_probe();

  std::vector<Probing> paths_;
  std::vector<std::uint32_t> words_;  // of each path: who says that its link is down
  std::uint32_t silent_ = 0;          // a bit for each
  std::uint32_t links_down_ = 0;      // as it was last said of where the path leads; likewise
  std::uint32_t asked_ = 0;           // were probed since their links are down
  std::uint32_t elsewhere_ = 0;       // lead elsewhere; likewise
  unsigned preferred_ = 0;
  unsigned best_ = 0;
  Nanoseconds next_probe_ = UINT64_MAX;
};

}  // namespace openlapi
