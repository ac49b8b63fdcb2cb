// Counters that peers still have to move, and counters that nobody will move any more: a thread that waits for the
// counter of an operation that was given up must not wait for ever. Counters are named by address; 0 means "no
// counter".
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace openlapi {

// Completion counters of this task that a peer still has to move, in the order of the operations. Peers answer almost
// in this order, so the search for the next one begins right after the latest.
class OwedCounters {
 public:
  void add(std::uint64_t counter) {
    if (counter == 0) return;
    counters_.push_back(counter);
    ++size_;
  }

  // The peer has moved it once. False: that move was not owed.
  bool settle(std::uint64_t counter);

  bool empty() const { return size_ == 0; }
  std::size_t size() const { return size_; }

  // Calls give_up(counter) for each one that is still owed, and forgets all.
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
  std::size_t next_ = 0;                 // where the search begins: after the latest settled one
  std::size_t size_ = 0;                 // how many are not 0
};

enum class CounterLoss : std::uint8_t {
  none,
  peer_lost,    // an operation that would have moved the counter was given up with its peer
  peer_purged,  // the same, because the user has purged the peer
  refused,      // the peer does not have the memory that the operation named
  no_memory,    // the peer had no memory left to carry out the operation
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
  // The user was told, or uses the counter anew.
  void forget(std::uint64_t counter) {
    if (!lost_.empty()) lost_.erase(counter);
  }

 private:
  std::unordered_map<std::uint64_t, CounterLoss> lost_;
};

}  // namespace openlapi
