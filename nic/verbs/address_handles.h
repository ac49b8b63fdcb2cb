// Address handles, one for all peers behind a port: of a node's tasks, and of their contexts. To make one of RoCE the
// kernel looks for the neighbour, which takes up to a second where nobody answers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class AddressHandles {
 public:
  // For packets of this route, of a port that has moved `moves` times: a handle knows which address they come from, and
  // which neighbour they went to when it was made. `anew`: that may be another one now. It lives as long as somebody
  // has it. Null, and errno: there is no way; for some seconds that is not tried again, for nobody behind that port
  // (EHOSTUNREACH).
  std::shared_ptr<ibv_ah> find_or_make(ibv_pd& domain, const ibv_ah_attr& route, std::uint32_t moves, bool anew);

 private:
  using Key = std::tuple<Gid, std::uint16_t, bool, std::uint32_t>;  // GID, LID, whether there is a route header, moves

  struct Entry {
    std::weak_ptr<ibv_ah> handle;
    std::uint64_t not_before = 0;  // milliseconds: when to try again what has failed
  };

  void clean(std::uint64_t now);

  std::map<Key, Entry> known_;
  std::size_t clean_at_ = 64;  // entries
};

}  // namespace openlapi::verbs
