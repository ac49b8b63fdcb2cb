#include "dataplane/paths/several_paths.h"

#include <algorithm>
#include <array>
#include <bit>

#include "dataplane/paths/path_packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

bool SeveralPaths::reach_over(const Transport& transport) const {
  return std::ranges::any_of(ends, [&](const PathEnds& of) { return of.lead_over(transport); });
}

// An adapter that has a path of its own is on that one alone; any other may be on several, one for each end.
bool SeveralPaths::find_origin(const Transport& transport, std::uint64_t origin) {
  for (unsigned path = 0; path != paths.size(); ++path) {
    if (!ends[path].lead_over(transport)) continue;
    const unsigned end = ends[path].find(transport, origin);
    arrived_over = path;
    arrived_from = end != PathEnds::kNone ? end : PathEnds::kHome;
    paths[path] = ends[path].at(ends[path].used());
    if (end != PathEnds::kNone) return true;
  }
  return false;
}

bool SeveralPaths::link_is_said(unsigned path, Nanoseconds now, Nanoseconds moved) {
  if (paths[path].capabilities->link_status == nullptr) return false;
  const bool is_lost = watch.link_is_said(path, paths[path].words_against(), now);
  if (!watch.is_silent(path)) {
    if (!watch.is_elsewhere(path)) teller.forget(path);  // the peer has begun anew since its link was down
    return is_lost;
  }
  if (!watch.is_there(path)) return is_lost;
  note_silence(path, now, moved);  // also of one that is there now, and has not answered
  if (is_lost) teller.lost_link(path, now, !others_may_serve());
  return is_lost;
}

// Where it leads now something else may be silent.
void SeveralPaths::note_silence(unsigned path, Nanoseconds now, Nanoseconds moved) {
  const unsigned from = ends[path].silent(), to = ends[path].used();
  if (from != to) teller.moves_on(path, from == PathEnds::kHome, to == PathEnds::kHome);
  ends[path].fall_silent(to);
  teller.went_silent(path, now, moved);
}

// It is at home that a path serves again. Elsewhere nothing is to be told any more but of the end where it began.
void SeveralPaths::note_end(unsigned path, PathCause cause, Nanoseconds now) {
  if (!watch.is_elsewhere(path)) return teller.serves(path, cause, now);
  if (ends[path].silent() != ends[path].used()) return teller.taken_over(path, now);
  teller.moves_on(path, false, true);
  ends[path].fall_silent(PathEnds::kHome);
  teller.went_silent(path, now, now);
}

void SeveralPaths::report_failed(std::uint32_t failed) {
  for (; failed != 0; failed &= failed - 1) {
    const PathEnds& of = ends[static_cast<unsigned>(std::countr_zero(failed))];
    const PeerPath& path = of.at(of.silent());
    LinkStatus* const link = path.capabilities->link_status;
    if (link != nullptr) link->path_failed(path.end);
  }
}

// Other ends in turn, and only while no path serves: the peers of a task may be many. Those that are said to be down
// are tried as well, less often.
std::uint32_t SeveralPaths::ends_to_probe(unsigned path) {
  const std::uint32_t owed = ends[path].take_owed_probes();
  if (owed != 0 && watch.is_silent(path)) return owed;
  std::uint32_t probed = 1u << PathEnds::kHome;
  if (!watch.is_silent(path)) return probed;
  probed |= 1u << ends[path].used();
  if (!watch.all_silent()) return probed;
  return probed | 1u << ends[path].next([](const PeerPath& end) { return end.words_against() == 0; });
}

// Whoever sends records waits for their acknowledgement where it sends them from: its other adapters may be dead. An
// answer shows that packets pass in both directions: at home, which is better, or while the path was silent. Whoever
// knows that home serves waits for the other one there: two would follow each other elsewhere for ever.
bool SeveralPaths::follows(const ReceiveOutcome& outcome, Nanoseconds now) {
  const bool wanted = arrived_from == PathEnds::kHome || watch.is_silent(arrived_over);
  if (!outcome.has_data && !(outcome.path_answered && wanted)) return false;
  if (!wanted && ends[arrived_over].serves_at_home(now)) return false;
  lead(arrived_over, arrived_from, now);
  if (!watch.is_silent(arrived_over)) note_end(arrived_over, PathCause::answered, now);
  return true;
}

// Or two routes would lead to one adapter, of which neither tells the other's losses from what it has overtaken.
bool SeveralPaths::go_home(Nanoseconds now) {
  if (ends[arrived_over].used() != PathEnds::kHome) return false;
  bool any = false;
  for (unsigned path = 0; path != paths.size(); ++path) {
    if (ends[path].used() == PathEnds::kHome) continue;
    lead(path, PathEnds::kHome, now);
    went_silent(path, now, now);
    any = true;
  }
  return any;
}

// Not beside long messages, whose packets all others wait for: the rates of the paths tell of these.
unsigned SeveralPaths::compare(ReliableChannel& reliable, Nanoseconds now) {
  std::uint64_t packets = 0;
  for (unsigned number = 0; number != paths.size(); ++number) packets += reliable.traffic(number).packets;
  if (!comparison.begins(packets, now)) return 0;
  const bool all_at_home = std::ranges::all_of(ends, [](const PathEnds& of) { return of.used() == PathEnds::kHome; });
  if (watch.any_silent() || !all_at_home || reliable.packets_out() > tuning::kMostPacketsBesideComparison) {
    comparison.forget();
    return 0;
  }
  unsigned sent = 0;
  for (unsigned number = 0; number != paths.size(); ++number) {
    alignas(8) std::array<std::byte, wire::kPacketHeaderSize> bytes;
    if (send_for_path(reliable, paths[number], bytes, wire::kPacketPathProbe, now) == 0) continue;
    comparison.probed(number, now);
    ++sent;
  }
  return sent;
}

bool SeveralPaths::was_answered(ReliableChannel& reliable, Nanoseconds now) {
  if (!comparison.answered(arrived_over, now)) return false;
  for (unsigned number = 0; number != paths.size(); ++number) {
    reliable.know_round_trip(number, comparison.round_trip(number));
  }
  comparison.forget();
  watch.prefer(reliable.quickest_path());
  return true;
}

// Or, where many peers are probed at the same times, the same ones find the port full each time.
void SeveralPaths::probes_refused(unsigned path, std::uint32_t at_ends, Nanoseconds now) {
  if (at_ends == 0) return;
  ends[path].owe_probes(at_ends);
  watch.probe_again(path, now);
}

void SeveralPaths::peer_moved(Nanoseconds now) {
  for (std::size_t number = 0; number != paths.size(); ++number) {
    ends[number].renew();
    paths[number] = ends[number].at(ends[number].used());
  }
  watch.probe_silent(now);
}

void SeveralPaths::lead(unsigned path, unsigned end, Nanoseconds now) {
  ends[path].use(end);
  paths[path] = ends[path].at(end);
  if (end == PathEnds::kHome) {
    watch.leads_home(path);
  } else {
    watch.leads_elsewhere(path, now);
  }
  watch.leads_over(path, paths[path].words_against());
}

}  // namespace openlapi
