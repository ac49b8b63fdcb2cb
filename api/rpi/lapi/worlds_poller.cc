#include "api/rpi/lapi/worlds_poller.h"

#include <algorithm>
#include <utility>

namespace openlapi::rpi {

namespace {

// After so long whoever waits looks round: LAM may have told something else.
constexpr Nanoseconds kLongestWait = kSecond;

std::vector<WakeSource*> sources_of(const std::vector<PolledWorld*>& worlds, Interruption& interruption) {
  std::vector<WakeSource*> all{&interruption};
  for (const PolledWorld* world : worlds) {
    const std::vector<WakeSource*>& sources = world->waking().sources;
    all.insert(all.end(), sources.begin(), sources.end());
  }
  return all;
}

bool any_is_blind(const std::vector<PolledWorld*>& worlds) {
  return std::ranges::any_of(worlds, [](const PolledWorld* world) { return world->waking().blind; });
}

}  // namespace

WorldsPoller::WorldsPoller(std::vector<PolledWorld*> worlds, Interruption& interruption)
    : worlds_(std::move(worlds)),
      interruption_(interruption),
      poller_(*this, worlds_.front()->waking().pace, sources_of(worlds_, interruption), any_is_blind(worlds_)) {}

bool WorldsPoller::step(Step which) {
  bool moved = false;
  for (PolledWorld* world : worlds_) moved = world->step(which) || moved;
  moved_ = moved_ || moved;
  return moved;
}

bool WorldsPoller::progress(bool block) {
  moved_ = is_over_ = false;
  if (!block) {
    if (!step(Step::first)) {
      for (PolledWorld* world : worlds_) world->look();
    }
    return moved_;
  }
  began_ = clock_.now();
  poller_.enter();
  poller_.wait(*this);
  poller_.leave();
  interruption_.clear();
  return moved_;
}

void WorldsPoller::waits_long() {
  for (PolledWorld* world : worlds_) world->look();
  is_over_ = clock_.now() - began_ >= kLongestWait;
}

ArrivalWord WorldsPoller::arrival_word() {
  return worlds_.size() == 1 ? worlds_.front()->arrival_word() : ArrivalWord{};
}

void WorldsPoller::flush() {
  for (PolledWorld* world : worlds_) world->flush();
}

bool WorldsPoller::has_work() {
  return std::ranges::any_of(worlds_, [](PolledWorld* world) { return world->has_work(); });
}

Nanoseconds WorldsPoller::deadline() {
  Nanoseconds earliest = UINT64_MAX;
  for (PolledWorld* world : worlds_) earliest = std::min(earliest, world->deadline());
  return earliest;
}

}  // namespace openlapi::rpi
