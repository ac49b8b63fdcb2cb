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
  void close(PeerIndex peer) {
    Era& era = own_[peer];
    ++era.number;
    era.closed = true;
  }
  void open(PeerIndex peer) { own_[peer].closed = false; }
  std::uint64_t number_of(PeerIndex peer) const { return of(peer).number; }
  bool receives(PeerIndex from, std::uint64_t era) const {
    const Era own = of(from);
    return !own.closed && own.number == era;
  }

  // The sender's: `other` are the eras of `peer`, who calls this task `self`.
  void begin(PeerIndex peer, PeerIndex self, const PairEras& other) { sends_for_[peer] = other.of(self).number; }
  std::uint64_t sends_for(PeerIndex peer) const {
    const auto found = sends_for_.find(peer);
    return found == sends_for_.end() ? 0 : found->second;
  }
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
  };
  Era of(PeerIndex peer) const {
    const auto found = own_.find(peer);
    return found == own_.end() ? Era{} : found->second;
  }

  std::map<PeerIndex, Era> own_;
  std::map<PeerIndex, std::uint64_t> sends_for_;
};

}  // namespace openlapi
