#include "control/job/pmix/adapter_relay.h"

#include <algorithm>

namespace openlapi {

std::optional<AdapterEvent> AdapterRelay::take(std::uint32_t task, const AdapterEvent& event, Clock::time_point now) {
  if (!may_go_on(task, now)) return std::nullopt;
  AdapterEvent news;
  for (const AdapterWord& word : event.words) {
    const auto known = last_.find(word.address);
    if (known == last_.end() ? word.is_up || last_.size() == kMostAdapters : known->second == word.is_up) continue;
    last_[word.address] = word.is_up;
    news.words.push_back(word);
  }
  return news.words.empty() ? std::nullopt : std::optional(news);
}

bool AdapterRelay::may_go_on(std::uint32_t task, Clock::time_point now) {
  Allowance& allowance = allowances_.try_emplace(task, Allowance{kMostAtOnce, now}).first->second;
  const auto pauses = std::min<Clock::rep>((now - allowance.since) / kPause, kMostAtOnce);
  if (pauses > 0) {
    allowance.left = std::min(allowance.left + static_cast<unsigned>(pauses), kMostAtOnce);
    allowance.since = now;
  }
  if (allowance.left == 0) return false;
  --allowance.left;
  return true;
}

}  // namespace openlapi
