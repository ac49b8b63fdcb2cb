#include "api/rpi/lapi/worlds_poller.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

namespace openlapi::rpi {

namespace {

// After so long whoever waits looks round: LAM may have told something else.
constexpr Nanoseconds kLongestWait = kSecond;
constexpr Nanoseconds kBetweenTries = 100 * kMicrosecond;  // to find the program in no call
constexpr Nanoseconds kLongestEnd = 86'400 * kSecond;      // of the thread, which makes a step at most

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

// The program's thread, in a call that polls.
class Inside {
 public:
  explicit Inside(Poller& poller) : poller_(poller) { poller_.enter(); }
  ~Inside() { poller_.leave(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Poller& poller_;
};

}  // namespace

WorldsPoller::WorldsPoller(std::vector<PolledWorld*> worlds, Interruption& interruption, Shared shared)
    : worlds_(std::move(worlds)),
      interruption_(interruption),
      shared_(shared),
      poller_(*this, worlds_.front()->waking().pace, sources_of(worlds_, interruption), any_is_blind(worlds_)) {}

WorldsPoller::~WorldsPoller() { stop_thread(); }

bool WorldsPoller::start_thread(std::string& reason) {
  const int error = poller_.start({.name = "openlapi-rpi"});
  if (error != 0) {
    reason = std::string("no thread (rpi_lapi_progress): ") + std::strerror(error);
    return false;
  }
  has_thread_ = true;
  if (const std::shared_ptr<Bell> bell = poller_.set_interrupt_mode(true)) bell->ring();
  return true;
}

void WorldsPoller::stop_thread() {
  if (!std::exchange(has_thread_, false)) return;
  poller_.request_stop();
  shared_.lock->unlock();
  poller_.join(kLongestEnd);
  shared_.lock->lock();
  thread_ = ContextLock::kNobody;
}

void WorldsPoller::lock() {
  if (shared_.lock != nullptr) shared_.lock->lock();
}

void WorldsPoller::unlock() {
  if (shared_.lock != nullptr) shared_.lock->unlock();
}

void WorldsPoller::hand_over_lock() {
  if (shared_.lock != nullptr) shared_.lock->hand_over();
}

StepOutcome WorldsPoller::progress(Step which) {
  const bool is_outside = has_thread_ && thread_ == this_thread();
  if (is_outside) shared_.listener->outside(true);
  const bool moved = step(which);
  if (is_outside) shared_.listener->outside(false);
  return {moved ? 1u : 0u, has_thread_ && shared_.lock->wanted()};
}

bool WorldsPoller::step(Step which) {
  bool moved = false;
  for (PolledWorld* world : worlds_) moved = world->step(which) || moved;
  moved_ = moved_ || moved;
  return moved;
}

bool WorldsPoller::progress(bool block) {
  moved_ = is_over_ = false;
  const Inside inside(poller_);
  if (block) {
    waits_since_ = 0;
    poller_.wait(*this);
    interruption_.clear();
  } else if (!step(Step::first)) {
    look();
  }
  return moved_;
}

void WorldsPoller::look() {
  for (PolledWorld* world : worlds_) world->look();
}

void WorldsPoller::waits_long() {
  look();
  const Nanoseconds now = clock_.now();
  if (waits_since_ == 0) waits_since_ = now;
  is_over_ = now - waits_since_ >= kLongestWait;
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
  if (has_thread_ && shared_.listener->waits_for_program()) earliest = std::min(earliest, clock_.now() + kBetweenTries);
  return earliest;
}

}  // namespace openlapi::rpi
