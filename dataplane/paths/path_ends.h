// The peer's end of a path: which of its adapters the path leads to. At home the path joins adapters that belong
// together; where others are on the same network it can lead to them as well, and does while no path serves at home:
// different adapters may be dead at the two ends. The peer's packets are taken from all of its ends.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "dataplane/transport/packet.h"

namespace openlapi {

class PathEnds {
 public:
  static constexpr unsigned kHome = 0;  // the others are 1, 2, ...

  explicit PathEnds(PeerIndex home) : home_(home) {}
  // `number`: the transport knows it under this one. `origin`: of packets from there.
  void add(PeerIndex number, std::uint64_t origin) { others_.push_back({number, origin}); }

  // The one that packets go to.
  unsigned used() const { return used_; }
  void use(unsigned end) { used_ = end; }

  PeerIndex number_of(unsigned end) const { return end == kHome ? home_ : others_[end - 1].number; }
  // Of the others, where packets of this origin come from; kHome: from none of them.
  unsigned find(std::uint64_t origin) const {
    for (unsigned other = 0; other != others_.size(); ++other) {
      if (others_[other].origin == origin) return other + 1;
    }
    return kHome;
  }
  // The peer has other addresses.
  template <typename OriginOf>
  void renew(OriginOf origin_of) {
    for (End& other : others_) other.origin = origin_of(other.number);
  }
  // Of the others, each in turn, the next one whose number suits, or the next one if none does; kHome: there are none.
  template <typename Suits>
  unsigned next(Suits suits) {
    if (others_.empty()) return kHome;
    for (std::size_t tries = 0; tries <= others_.size(); ++tries) {
      turn_ = turn_ % static_cast<unsigned>(others_.size()) + 1;
      if (suits(number_of(turn_))) break;
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
  struct End {
    PeerIndex number;
    std::uint64_t origin;
  };

  PeerIndex home_;
  std::vector<End> others_{};
  unsigned used_ = kHome;
  unsigned turn_ = 0;
  std::uint32_t owed_probes_ = 0;
  std::uint32_t probed_from_ = 0;
};

}  // namespace openlapi
