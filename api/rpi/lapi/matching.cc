#include "api/rpi/lapi/matching.h"

namespace openlapi::rpi {
namespace {

// Its place in ways_to_ask_for().
std::size_t way_of(const Wanted& wanted) {
  return (wanted.tag == MPI_ANY_TAG ? 1U : 0U) + (wanted.rank == MPI_ANY_SOURCE ? 2U : 0U);
}

}  // namespace

void PostedList::post(Posted& posted) {
  const auto [list, is_new] = lists_.try_emplace(posted.wanted);
  if (is_new) ++in_use_[way_of(posted.wanted)];
  posted.order = ++last_order_;
  list->second.push_back(posted);
}

void PostedList::take_back(Posted& posted) {
  if (posted.order == 0) return;
  const auto list = lists_.find(posted.wanted);
  list->second.remove(posted);
  posted.order = 0;
  if (!list->second.empty()) return;
  lists_.erase(list);
  --in_use_[way_of(posted.wanted)];
}

Posted* PostedList::find(const Wanted& message) {
  Posted* first = nullptr;
  const auto ways = ways_to_ask_for(message);
  for (std::size_t way = 0; way < kWaysToAsk; ++way) {
    if (in_use_[way] == 0) continue;
    ++steps_;
    const auto list = lists_.find(ways[way]);
    if (list == lists_.end()) continue;
    Posted* candidate = list->second.first();
    if (first == nullptr || candidate->order < first->order) first = candidate;
  }
  return first;
}

void UnaskedList::add(Unasked& message) {
  const auto ways = ways_to_ask_for(message.wanted);
  std::array<List*, kWaysToAsk> lists{};
  std::size_t made = 0;
  try {
    for (; made < kWaysToAsk; ++made) lists[made] = &lists_[ways[made]];
  } catch (...) {
    while (made-- > 0) {
      if (lists[made]->empty()) lists_.erase(ways[made]);
    }
    throw;
  }
  for (std::size_t way = 0; way < kWaysToAsk; ++way) {
    message.places[way].message = &message;
    lists[way]->push_back(message.places[way]);
  }
  message.listed = true;
}

void UnaskedList::remove(Unasked& message) {
  if (!message.listed) return;
  const auto ways = ways_to_ask_for(message.wanted);
  for (std::size_t way = 0; way < kWaysToAsk; ++way) {
    const auto list = lists_.find(ways[way]);
    list->second.remove(message.places[way]);
    if (list->second.empty()) lists_.erase(list);
  }
  message.listed = false;
}

Unasked* UnaskedList::find(const Wanted& wanted) {
  ++steps_;
  const auto list = lists_.find(wanted);
  return list == lists_.end() ? nullptr : list->second.first()->message;
}

}  // namespace openlapi::rpi
