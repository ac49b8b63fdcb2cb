// Where a path can lead to, and over which adapter here. At home it joins adapters that belong together. Where others
// are on the same network it can lead to these of the peer as well, and over those here that have no path of their own,
// and does while no path serves at home: different adapters may be dead at the two ends. The peer's packets are taken
// from all of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/paths/peer_path.h"
#include "dataplane/transport/packet.h"
#include "dataplane/tuning.h"

namespace openlapi {

class PathEnds {
 public:
  static constexpr unsigned kHome = 0;  // the others are 1, 2, ...
  static constexpr unsigned kNone = UINT32_MAX;

  explicit PathEnds(const PeerPath& home) : all_{home} {}
  void add(const PeerPath& other) { all_.push_back(other); }
  bool are_several() const { return all_.size() > 1; }
  const std::vector<PeerPath>& all() const { return all_; }
  const PeerPath& at(unsigned end) const { return all_[end]; }

  // The one that packets go to.
  unsigned used() const { return used_; }
  void use(unsigned end) {
    used_ = end;
    passed_by_ = 0;
  }

  // The one of which something is to be told: where the path led when its latest silence began.
  unsigned silent() const { return silent_; }
  void fall_silent(unsigned end) { silent_ = end; }

  // A probe has been answered at home, which says for a while that it serves.
  void home_answered(Nanoseconds now) { home_answered_ = now; }
  bool serves_at_home(Nanoseconds now) const {
    return used_ == kHome && home_answered_ != 0 && now - home_answered_ < tuning::kLongestProbePause;
  }

  bool lead_over(const Transport& transport) const {
    return std::ranges::find(all_, &transport, &PeerPath::transport) != all_.end();
  }
  // Where packets of this origin come from; kNone: from none of them. The address at home may have changed since the
  // last packet.
  unsigned find(const Transport& transport, std::uint64_t origin) {
    for (unsigned end = 0; end != all_.size(); ++end) {
      if (all_[end].transport != &transport) continue;
      if (end == kHome && all_[end].origin != origin) all_[end].ask_origin();
      if (all_[end].origin == origin) return end;
    }
    return kNone;
  }
  // The peer has other addresses.
  void renew() {
    for (PeerPath& end : all_) end.ask_origin();
  }
  // Of the others, each in turn, the next one that suits; one that does not is passed by only every second time, for
  // what says so may be wrong. kHome: there are none.
  template <typename Suits>
  unsigned next(Suits suits) {
    if (!are_several()) return kHome;
    for (std::size_t tries = 0; tries != all_.size(); ++tries) {
      turn_ = turn_ % static_cast<unsigned>(all_.size() - 1) + 1;
      passed_by_ ^= 1u << turn_;
      if ((passed_by_ >> turn_ & 1) == 0) break;
      if (!suits(all_[turn_])) continue;
      passed_by_ ^= 1u << turn_;
      break;
    }
    return turn_;
  }

  // The ends, as bits, whose probes found no room on their way out, and are still to be sent.
  void owe_probes(std::uint32_t ends) { owed_probes_ |= ends; }
  std::uint32_t take_owed_probes() { return std::exchange(owed_probes_, 0); }

  // The ends, as bits, whose probes are to be answered.
  void was_probed_from(unsigned end) { probed_from_ |= 1u << end; }
  std::uint32_t take_probed_from() { return std::exchange(probed_from_, 0); }

 private:
  std::vector<PeerPath> all_;
  unsigned used_ = kHome;
  unsigned silent_ = kHome;
  unsigned turn_ = 0;
  std::uint32_t passed_by_ = 0;    // the latest time, as bits
  Nanoseconds home_answered_ = 0;  // 0: never
  std::uint32_t owed_probes_ = 0;
  std::uint32_t probed_from_ = 0;
};

}  // namespace openlapi
