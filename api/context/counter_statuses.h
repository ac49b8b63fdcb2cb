// The destinations and statuses that LAPI_Setcntr_wstatus attaches to a counter (guide, chapter 19): who has answered,
// who was purged. The arrays are the user's. They are used until the counter is set again, or until a wait for it has
// ended and no destination is left to answer. All calls with the context's lock held.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api/include/lapi.h"
#include "dataplane/host/handler_host.h"

namespace openlapi {

class CounterStatuses {
 public:
  // What the destinations that have not answered mean for a wait for the counter.
  enum class Outlook : std::uint8_t {
    unknown,  // there is no list
    open,     // some may still answer, or all have answered
    lost,     // one was lost, and no other may still answer
    purged,   // all of them were purged
  };

  bool empty() const { return lists_.empty(); }
  void clear() { lists_.clear(); }

  // Takes the arrays and sets all statuses. `invalid(task)`: the task is purged already, or not in the job.
  template <class Invalid>
  void set(const lapi_cntr_t* counter, std::span<const uint> destinations, int* statuses, Invalid invalid) {
    for (std::size_t i = 0; i < destinations.size(); ++i) {
      statuses[i] = invalid(destinations[i]) ? LAPI_MSG_INVALID : LAPI_MSG_INITIAL;
    }
    remove(counter);
    lists_.push_back({counter, destinations, statuses, {}});
  }
  void remove(const lapi_cntr_t* counter) {
    std::erase_if(lists_, [counter](const List& list) { return list.counter == counter; });
  }
  // Forgets the arrays if nothing more will be written to them.
  void remove_if_answered(const lapi_cntr_t* counter);

  void counter_moved(const lapi_cntr_t* counter, PeerIndex by);
  void task_purged(PeerIndex task);
  void task_lost(PeerIndex task);

  Outlook outlook(const lapi_cntr_t* counter) const;
  // The destinations that may still answer.
  std::vector<PeerIndex> awaited(const lapi_cntr_t* counter) const {
    if (lists_.empty()) [[likely]]
      return {};
    return unanswered(counter);
  }

 private:
  struct List {
    const lapi_cntr_t* counter;
    std::span<const uint> destinations;
    int* statuses;
    std::vector<PeerIndex> lost;
  };

  const List* find(const lapi_cntr_t* counter) const;
  std::vector<PeerIndex> unanswered(const lapi_cntr_t* counter) const;

  std::vector<List> lists_;  // few
};

}  // namespace openlapi
