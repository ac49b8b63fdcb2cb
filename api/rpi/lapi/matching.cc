#include "api/rpi/lapi/matching.h"

namespace openlapi::rpi {
namespace {

// Its place in ways_to_ask_for().
std::size_t way_of(const Wanted& wanted) {
  return (wanted.tag == MPI_ANY_TAG ? 1U : 0U) + (wanted.rank == MPI_ANY_SOURCE ? 2U : 0U);
}

}  // namespace

PostedList::Lists::value_type& PostedList::list_of(const Wanted& wanted) {
  if (recent_ != nullptr && recent_->first == wanted) return *recent_;
  Lists::value_type& list = *lists_.try_emplace(wanted).first;
  if (recent_ != nullptr && recent_->second.empty()) lists_.erase(Wanted(recent_->first));
  return *(recent_ = &list);
}

void PostedList::post(Posted& posted) {
  auto& [wanted, list] = list_of(posted.wanted);
  if (list.empty()) {
    ++in_use_[way_of(wanted)];
    ++all_in_use_;
  }
  posted.order = ++last_order_;
  list.push_back(posted);
}

void PostedList::take_back(Posted& posted) {
  if (posted.order == 0) return;
  const bool is_recent = recent_->first == posted.wanted;
  const auto place = is_recent ? lists_.end() : lists_.find(posted.wanted);
  List& list = is_recent ? recent_->second : place->second;
  list.remove(posted);
  posted.order = 0;
  if (!list.empty()) return;
  --in_use_[way_of(posted.wanted)];
  --all_in_use_;
  if (!is_recent) lists_.erase(place);
}

// Null: nobody asks for just this.
Posted* PostedList::find_in(const Wanted& wanted) {
  ++steps_;
  if (recent_->first == wanted) return recent_->second.first();
  const auto list = lists_.find(wanted);
  return list == lists_.end() ? nullptr : list->second.first();
}

Posted* PostedList::find(const Wanted& message) {
  if (all_in_use_ == 0) return nullptr;
  if (all_in_use_ == 1 && !recent_->second.empty()) {
    ++steps_;
    return recent_->first.takes(message) ? recent_->second.first() : nullptr;
  }
  Posted* first = nullptr;
  const auto ways = ways_to_ask_for(message);
  for (std::size_t way = 0; way < kWaysToAsk; ++way) {
    if (in_use_[way] == 0) continue;
    Posted* const candidate = find_in(ways[way]);
    if (candidate == nullptr) continue;
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
  if (lists_.empty()) return nullptr;
  ++steps_;
  const auto list = lists_.find(wanted);
  return list == lists_.end() ? nullptr : list->second.first()->message;
}

}  // namespace openlapi::rpi
