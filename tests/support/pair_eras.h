// The eras of a reliable test transport with its peers, as shm/segment_layout.h has them for shared memory: each side
// counts how often it has closed the other, and packets carry the era of the receiver that they are for.
#pragma once

#include <cstdint>
#include <map>

#include "dataplane/transport/packet.h"

namespace openlapi {

class PairEras {
 public:
  // The owner's side.
  void purge(PeerIndex peer) {
    Era& era = own_[peer];
    ++era.number;
    era.closed = true;
    era.given_up = false;
  }
  void give_up(PeerIndex peer) {
    purge(peer);
    resume(peer);
    own_[peer].given_up = true;
  }
  void resume(PeerIndex peer) { own_[peer].closed = false; }
  std::uint64_t number_of(PeerIndex peer) const { return of(peer).number; }
  bool receives(PeerIndex from, std::uint64_t era) const {
    const Era own = of(from);
    return !own.closed && own.number == era;
  }

  // The sender's: `other` are the eras of `peer`, who calls this task `self`.
  void begin(PeerIndex peer, PeerIndex self, const PairEras& other) { sends_for_[peer] = other.of(self); }
  std::uint64_t sends_for(PeerIndex peer) const { return find(sends_for_, peer).number; }
  bool was_given_up(PeerIndex peer) const { return find(sends_for_, peer).given_up; }
  // It has begun a new era for us, and does not receive in it yet.
  bool is_shut(PeerIndex peer, PeerIndex self, const PairEras& other) const {
    return other.of(self).closed && other.of(self).number == sends_for(peer);
  }
  bool began_anew(PeerIndex peer, PeerIndex self, const PairEras& other) {
    if (other.of(self).closed || other.of(self).number == sends_for(peer)) return false;
    begin(peer, self, other);
    return true;
  }

 private:
  struct Era {
    std::uint64_t number = 0;
    bool closed = false;
    bool given_up = false;
  };
  using Eras = std::map<PeerIndex, Era>;
  static Era find(const Eras& eras, PeerIndex peer) {
    const auto found = eras.find(peer);
    return found == eras.end() ? Era{} : found->second;
  }
  Era of(PeerIndex peer) const { return find(own_, peer); }

  Eras own_, sends_for_;
};

}  // namespace openlapi
