#include "api/context/counter_statuses.h"

#include <algorithm>

namespace openlapi {

const CounterStatuses::List* CounterStatuses::find(const lapi_cntr_t* counter) const {
  const auto found =
      std::find_if(lists_.begin(), lists_.end(), [counter](const List& list) { return list.counter == counter; });
  return found == lists_.end() ? nullptr : &*found;
}

void CounterStatuses::counter_moved(const lapi_cntr_t* counter, PeerIndex by) {
  const List* found = find(counter);
  if (found == nullptr) return;
  const List& list = *found;
  // A task that is named several times answers several times.
  for (std::size_t i = 0; i < list.destinations.size(); ++i) {
    if (list.destinations[i] != by || list.statuses[i] != LAPI_MSG_INITIAL) continue;
    list.statuses[i] = LAPI_MSG_RECVD;
    return;
  }
}

void CounterStatuses::task_purged(PeerIndex task) {
  for (List& list : lists_) {
    for (std::size_t i = 0; i < list.destinations.size(); ++i) {
      if (list.destinations[i] != task) continue;
      int& status = list.statuses[i];
      if (status == LAPI_MSG_INITIAL) status = LAPI_MSG_PURGED;
      if (status == LAPI_MSG_RECVD) status = LAPI_MSG_PURGED_RCVD;
    }
  }
}

void CounterStatuses::task_lost(PeerIndex task) {
  for (List& list : lists_) {
    if (std::find(list.destinations.begin(), list.destinations.end(), task) != list.destinations.end()) {
      list.lost.push_back(task);
    }
  }
}

CounterStatuses::Outlook CounterStatuses::outlook(const lapi_cntr_t* counter) const {
  const List* found = find(counter);
  if (found == nullptr) return Outlook::unknown;
  const List& list = *found;
  bool lost = false, purged = false;
  for (std::size_t i = 0; i < list.destinations.size(); ++i) {
    if (list.statuses[i] == LAPI_MSG_INITIAL) {
      if (std::find(list.lost.begin(), list.lost.end(), list.destinations[i]) == list.lost.end()) return Outlook::open;
      lost = true;
    }
    purged = purged || list.statuses[i] == LAPI_MSG_PURGED || list.statuses[i] == LAPI_MSG_INVALID;
  }
  if (lost) return Outlook::lost;
  return purged ? Outlook::purged : Outlook::open;
}

std::vector<PeerIndex> CounterStatuses::unanswered(const lapi_cntr_t* counter) const {
  std::vector<PeerIndex> tasks;
  const List* found = find(counter);
  if (found == nullptr) return tasks;
  const List& list = *found;
  for (std::size_t i = 0; i < list.destinations.size(); ++i) {
    if (list.statuses[i] == LAPI_MSG_INITIAL) tasks.push_back(list.destinations[i]);
  }
  return tasks;
}

void CounterStatuses::remove_if_answered(const lapi_cntr_t* counter) {
  if (awaited(counter).empty()) remove(counter);
}

}  // namespace openlapi
