// Address handles, one for all peers behind a port: of a node's tasks, and of their contexts. To make one of RoCE the
// kernel looks for the neighbour, which takes a second or more where nobody answers: a thread of its own waits for
// that.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "dataplane/base/slow_call.h"
#include "nic/verbs/send_ring.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

class AddressHandles {
 public:
  static constexpr std::size_t kMostInMaking = 16;  // threads

  struct Wish {
    ibv_ah_attr route;
    std::uint32_t moves;  // how often the port has moved: a handle knows which address packets come from
    bool anew;            // the neighbour may be another one than when the present handle was made
    std::uint64_t now;    // milliseconds, monotonic_time.h
  };

  struct Found {
    std::shared_ptr<ibv_ah> handle;
    int error = 0;  // errno, when there is no handle
  };

  // `looks_for_neighbours`: the kernel does, as for RoCE; otherwise who asks makes the handle, at once.
  void open(ibv_pd& domain, bool looks_for_neighbours) {
    domain_ = &domain;
    looks_for_neighbours_ = looks_for_neighbours;
  }

  // A handle lives as long as somebody has it, and what a thread has made waits some seconds for whoever asks for it.
  // Null: there is no way (`error`), and for some seconds nobody behind that port is looked for again (EHOSTUNREACH);
  // or it is not made yet, some milliseconds later (EINPROGRESS): ask again, not anew.
  Found find_or_make(const Wish& wish);

 private:
  static constexpr std::chrono::milliseconds kPatience{10};  // most neighbours answer sooner

  using Key = std::tuple<Gid, std::uint16_t, bool, std::uint32_t>;  // GID, LID, whether there is a route header, moves

  struct Made {
    std::shared_ptr<ibv_ah> handle;
    int error = 0;
    std::uint64_t ended = 0;  // milliseconds
  };

  struct Making {
    ibv_pd& domain;
    const ibv_ah_attr route;
    bool is_outdated = false;  // somebody wants one that is begun later
    Made made{};               // the thread's, while there is one
    SlowCall call{};           // last: it uses the others
  };

  struct Entry {
    std::weak_ptr<ibv_ah> handle;
    std::shared_ptr<ibv_ah> ready;  // the same, while nobody has it yet
    std::uint64_t ready_until = 0;  // milliseconds
    std::uint64_t not_before = 0;   // the same: when to try again what has failed
    std::unique_ptr<Making> making;
  };

  static Key key_of(const Wish& wish);
  static Made make_now(ibv_pd& domain, const ibv_ah_attr& route);
  static void forget(Entry& entry);
  static int keep(Entry& entry, Made made);
  Found make(const Wish& wish, Entry& entry);
  bool begin(const Wish& wish, Entry& entry);
  int take(Entry& entry);
  void take_finished();
  void clean(std::uint64_t now);

  ibv_pd* domain_ = nullptr;
  bool looks_for_neighbours_ = true;
  std::map<Key, Entry> known_;
  std::size_t in_making_ = 0;
  std::size_t clean_at_ = 64;  // entries
};

// Handles that are used no more, until the sends that use them are done.
class RetiredHandles {
 public:
  // `handle`: of what was sent so far; null: there was none.
  void add(std::shared_ptr<ibv_ah> handle, const SendRing& sends);

 private:
  struct Retired {
    std::shared_ptr<ibv_ah> handle;
    std::uint64_t last_send;
  };
  std::vector<Retired> retired_;
};

}  // namespace openlapi::verbs
