// Counters that others have to move, and those that nobody will move any more: a thread that waits for one of an
// operation that was given up must not wait for ever. Counters are named by their addresses; 0 is "no counter".
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace openlapi {

// Completion counters of this task that a peer still has to move, in the order of the operations. Peers answer nearly
// in this order, so the next one is close behind the latest, whoever is left behind.
class OwedCounters {
 public:
  void add(std::uint64_t counter) {
    if (counter == 0) return;
    counters_.push_back(counter);
    ++size_;
  }

  // The peer has moved it once. False: that was not owed.
  bool settle(std::uint64_t counter);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Calls give_up(counter) for each that is still owed, and forgets them.
  template <class GiveUp>
  void give_up_all(GiveUp give_up) {
    for (const std::uint64_t counter : counters_) {
      if (counter != 0) give_up(counter);
    }
    counters_.clear();
    next_ = size_ = 0;
  }

 private:
  void drop_settled();

  std::vector<std::uint64_t> counters_;  // 0: settled
  std::size_t next_ = 0;                 // where the search begins: behind the one that was settled last
  std::size_t size_ = 0;                 // those that are not 0
};

enum class CounterLoss : std::uint8_t {
  none,
  peer_lost,    // an operation that would have moved the counter was given up with its peer
  peer_purged,  // the same, as the user wished
  refused,      // the peer has no such memory as the operation named
  no_memory,    // the peer had no memory left to carry the operation out
};

class LostCounters {
 public:
  void add(std::uint64_t counter, CounterLoss why) {
    if (counter != 0) lost_[counter] = why;
  }
  CounterLoss find(std::uint64_t counter) const {
    if (lost_.empty()) [[likely]]
      return CounterLoss::none;
    const auto found = lost_.find(counter);
    return found == lost_.end() ? CounterLoss::none : found->second;
  }
  // The user has been told, or begins anew with the counter.
  void forget(std::uint64_t counter) {
    if (!lost_.empty()) lost_.erase(counter);
  }

 private:
  std::unordered_map<std::uint64_t, CounterLoss> lost_;
};

}  // namespace openlapi
