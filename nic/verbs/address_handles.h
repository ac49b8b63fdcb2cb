// Address handles, one for all peers behind a port: of a node's tasks, and of their contexts. To make one of RoCE the
// kernel looks for the neighbour, which takes a second or more where nobody answers. A thread of its own waits for that
// where the caller does not (handle_in_making.h).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <tuple>

#include "nic/verbs/handle_in_making.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class AddressHandles {
 public:
  static constexpr std::uint64_t kAsLongAsItTakes = UINT64_MAX;

  struct Wish {
    ibv_ah_attr route;
    std::uint32_t moves;     // how often the port has moved: a handle knows which address packets come from
    bool anew;               // the neighbour may be another one than when the present handle was made
    std::uint64_t patience;  // milliseconds
    std::uint64_t now;       // the same, monotonic_time.h
    bool tells = false;      // the user, when there is no way
  };

  struct Found {
    std::shared_ptr<ibv_ah> handle;
    int error = 0;                 // errno, when there is no handle
    std::uint64_t not_before = 0;  // milliseconds: when to ask again, if there is no way
    bool untold = false;           // of this failure nobody who tells has heard yet
  };

  // A handle lives as long as somebody has it, and what a thread has made waits some seconds for whoever asks for it.
  // Null: there is no way (`error`), and for some seconds nobody behind that port is looked for again (EHOSTUNREACH);
  // or it is not made yet (EINPROGRESS): ask again, not anew.
  Found find_or_make(ibv_pd& domain, const Wish& wish);

 private:
  static constexpr std::size_t kMostInMaking = 16;  // threads

  using Key = std::tuple<Gid, std::uint16_t, bool, std::uint32_t>;  // GID, LID, whether there is a route header, moves

  struct Entry {
    std::weak_ptr<ibv_ah> handle;
    std::shared_ptr<ibv_ah> ready;  // the same, while nobody has it yet
    std::uint64_t ready_until = 0;  // milliseconds
    std::uint64_t not_before = 0;   // the same: when to try again what has failed
    bool untold = false;            // who tells has not heard of that
    std::unique_ptr<HandleInMaking> making;
    bool outdated = false;  // what is in making was begun before somebody wanted it anew
  };

  static Key key_of(const Wish& wish);
  static void forget(Entry& entry);
  static int keep(Entry& entry, HandleInMaking::Made made);
  static Found refuse(Entry& entry, const Wish& wish, int error);
  Found make(ibv_pd& domain, const Wish& wish, Entry& entry);
  int take(Entry& entry);
  void take_finished();
  void clean(std::uint64_t now);

  std::map<Key, Entry> known_;
  std::size_t in_making_ = 0;
  std::size_t clean_at_ = 64;  // entries
};

}  // namespace openlapi::verbs
