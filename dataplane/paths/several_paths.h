// What a channel knows of its paths if there are more than one, or the only one has several ends: where they lead,
// which of them serve, and what the user is told of that.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/paths/path_comparison.h"
#include "dataplane/paths/path_ends.h"
#include "dataplane/paths/path_teller.h"
#include "dataplane/paths/path_watch.h"
#include "dataplane/paths/peer_path.h"
#include "dataplane/reliability/reliable_channel.h"

namespace openlapi {

struct SeveralPaths {
  explicit SeveralPaths(std::vector<PathEnds> all)
      : ends(std::move(all)),
        watch(static_cast<unsigned>(ends.size())),
        teller(static_cast<unsigned>(ends.size())),
        comparison(static_cast<unsigned>(ends.size())) {
    for (const PathEnds& of : ends) paths.push_back(of.at(PathEnds::kHome));
  }

  // Whether a packet comes from where the best path leads, as most do.
  bool comes_over_best(const Transport& transport, std::uint64_t origin) {
    const unsigned best = watch.best();
    if (paths[best].transport != &transport || paths[best].origin != origin) return false;
    arrived_over = best;
    arrived_from = ends[best].used();
    return true;
  }
  // Whether it comes from any of the ends.
  bool find_origin(const Transport& transport, std::uint64_t origin);
  [[gnu::noinline]] bool reach_over(const Transport& transport) const;
  // The path is silent. `moved`: as for PathTeller. There is nothing to tell of a path that is not there yet.
  void went_silent(unsigned path, Nanoseconds now, Nanoseconds moved) {
    watch.went_silent(path, now);
    if (watch.is_there(path)) note_silence(path, now, moved);
  }
  // The silent path of which the latest packet, an answer, shows that it serves.
  unsigned answered_path() const {
    return ends[arrived_over].silent() == arrived_from ? arrived_over : PathTeller::kElsewhere;
  }
  // No path serves, but some may at another end.
  bool others_may_serve() const {
    return watch.all_silent() && std::ranges::any_of(ends, [](const PathEnds& of) { return of.are_several(); });
  }
  // The silence of the path has ended.
  void note_end(unsigned path, PathCause cause, Nanoseconds now);
  // More than silent, or not there yet: nobody is to hear that messages take it.
  bool has_failed(unsigned path) const {
    const bool serves_elsewhere = watch.is_elsewhere(path) && !watch.is_silent(path);
    return (teller.has_failed(path) && !serves_elsewhere) || !watch.is_there(path);
  }
  // What is said of the path's link now; likewise. True: somebody has not said before that it is down.
  [[gnu::noinline, gnu::cold]] bool link_is_said(unsigned path, Nanoseconds now, Nanoseconds moved);
  // Packets of the path go to that end from now on.
  void lead(unsigned path, unsigned end, Nanoseconds now);
  // The path that has brought the latest packet serves. If it leads home those that lead elsewhere go home, and are
  // silent. True: there were such.
  [[gnu::noinline, gnu::cold]] bool go_home(Nanoseconds now);
  // Sends probes of all paths if it is time; how many.
  [[gnu::noinline, gnu::cold]] unsigned compare(ReliableChannel& reliable, Nanoseconds now);
  // The latest packet is an answer, while no path is silent. True: another path may be the best one now.
  [[gnu::noinline, gnu::cold]] bool was_answered(ReliableChannel& reliable, Nanoseconds now);
  // The peer is elsewhere, over some of the paths.
  void peer_moved(Nanoseconds now);
  // The traffic has shown of these paths, as bits, that nothing comes through.
  [[gnu::noinline, gnu::cold]] void report_failed(std::uint32_t failed);
  // The ends of a path, as bits, that are to be probed.
  std::uint32_t ends_to_probe(unsigned path);
  // These found the transport full: they are sent before the path's next probes are due.
  void probes_refused(unsigned path, std::uint32_t at_ends, Nanoseconds now);
  // The latest packet is a probe, which is answered to where it has come from. Returns its path.
  unsigned was_probed() {
    ends[arrived_over].was_probed_from(arrived_from);
    return arrived_over;
  }
  // The latest packet is an answer.
  void note_answer(Nanoseconds now) {
    if (arrived_from == PathEnds::kHome) ends[arrived_over].home_answered(now);
  }
  // The latest packet has come from another end than packets go to; whether they go there now.
  bool from_other_end() const { return arrived_from != ends[arrived_over].used(); }
  [[gnu::noinline, gnu::cold]] bool follows(const ReceiveOutcome& outcome, Nanoseconds now);

  void note_silence(unsigned path, Nanoseconds now, Nanoseconds moved);

  std::vector<PathEnds> ends;     // of each path
  std::vector<PeerPath> paths{};  // where each leads now
  PathWatch watch;
  PathTeller teller;
  PathComparison comparison;
  unsigned arrived_over = 0;                // the path of the latest packet,
  unsigned arrived_from = PathEnds::kHome;  // and the peer's end of it
  Nanoseconds heard_over_best = 0;
};

}  // namespace openlapi
