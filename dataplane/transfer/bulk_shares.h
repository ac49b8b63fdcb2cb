// How the paths of a bulk transfer share its data. Each has a few chunks under way and takes the next one when one is
// here, so that each brings as much as it can. Towards the end a path takes only what it brings before the others have
// brought all the rest.
#pragma once

#include <cstdint>

#include "dataplane/message/bulk_pull.h"
#include "dataplane/peers/peer.h"

namespace openlapi {

class BulkShares {
 public:
  // `now`: meaningful where the pull is watched.
  BulkShares(const BulkPull& pull, const Peer& peer, Nanoseconds now);

  // How much of BulkPull::next() the path may begin to read now; 0: nothing.
  std::uint64_t next_chunk(const BulkPull::Path& path) const;

  // No path can begin to read any more, even if it has room.
  bool are_all_lost() const;

  // Reads that hold up the end of the message: they bring nothing, and no other path has any under way although one
  // could, or packets.
  bool are_held_up() const;

 private:
  bool is_usable(const BulkPull::Path& path) const;
  bool serves(const BulkPull::Path& path) const {
    return peer_.brings(peer_.bulk_paths[path.number], path.under_way, now_);
  }
  double speed(const BulkPull::Path& path) const;
  Nanoseconds patience(const BulkPull::Path& path) const;
  bool is_first(const BulkPull::Path& path, std::uint64_t bytes) const;

  const BulkPull& pull_;
  const Peer& peer_;
  const Nanoseconds now_;
  bool any_serves_ = false;
  double usual_speed_ = 1;  // taken for that of a path of which it is not known
};

}  // namespace openlapi
