#include "control/client/adapter_board.h"

namespace openlapi {

bool AdapterBoard::hear(const AdapterEvent& event) {
  bool changed = false;
  for (const AdapterWord& word : event.words) {
    if (own_.contains(word.address)) continue;
    if (word.is_up) {
      changed |= down_.erase(word.address) != 0;
    } else if (down_.size() < kMostDown) {
      changed |= down_.insert(word.address).second;
    }
  }
  return changed;
}

bool AdapterBoard::set_own(const AdapterAddress& address, bool is_up) {
  if (own_.size() == AdapterEvent::kMostWords && !own_.contains(address)) return false;
  down_.erase(address);
  Own& own = own_[address];
  own.is_up = is_up;
  return own.is_up != own.told_up;
}

std::optional<AdapterEvent> AdapterBoard::take_news() {
  AdapterEvent event;
  for (auto& [address, own] : own_) {
    if (own.is_up == own.told_up) continue;
    own.told_up = own.is_up;
    event.words.push_back({address, own.is_up});
  }
  return event.words.empty() ? std::nullopt : std::optional(event);
}

}  // namespace openlapi
