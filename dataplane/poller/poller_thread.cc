// The dataplane thread.
#include <poll.h>
#include <time.h>

#include "dataplane/poller/poller.h"

namespace openlapi {

namespace {

// Within that time; UINT64_MAX: it does in the end.
bool rings(const Bell& bell, Nanoseconds longest) {
  pollfd descriptor{bell.descriptor(), POLLIN, 0};
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(longest / kSecond);
  timeout.tv_nsec = static_cast<long>(longest % kSecond);
  ppoll(&descriptor, 1, longest != UINT64_MAX ? &timeout : nullptr, nullptr);
  return descriptor.revents != 0;
}

}  // namespace

int Poller::start(const ThreadStart& how) {
  entries_seen_ = entries_;
  return thread_.start(
      how, [](void* self) { static_cast<Poller*>(self)->serve(); }, this);
}

void Poller::request_stop() {
  stop_ = true;
  thread_bell_->ring();
  wake_ready();
}

std::shared_ptr<Bell> Poller::set_interrupt_mode(bool on) {
  if (interrupt_ == on) return nullptr;
  interrupt_ = on;
  entries_seen_ = entries_;  // whoever polled before did so in another mode: it takes charge at once
  if (!on) {
    // Whoever sleeps, now or later, has to look after itself, whether the thread has noticed or not.
    thread_state_ = ThreadState::parked;
    note_attendance();
    hand_over();
  }
  return thread_bell_;
}

void Poller::serve() {
  PolledEngine& engine = engine_;
  engine.lock();
  engine.thread_begins();
  while (!stop_) {
    if (!interrupt_) {
      park();
    } else if (inside_ > 0 || dozer_in_charge_ || entries_ != entries_seen_) {
      nap();
    } else {
      serve_in_charge();
    }
  }
  thread_state_ = ThreadState::none;
  note_attendance();
  engine.unlock();
  engine.thread_ends();
}

void Poller::serve_in_charge() {
  const auto now = [this] { return engine_.now(); };
  ThreadPacing pacing(config_.pacing);
  while (!stop_ && interrupt_ && inside_ == 0 && !dozer_in_charge_) {
    thread_state_ = ThreadState::running;
    note_attendance();
    const StepOutcome outcome = engine_.progress(Step::first);
    if (outcome.moved != 0 && dozing_.load(std::memory_order_relaxed) != 0) wake_ready();
    if (outcome.lock_wanted) relinquish();
    if (outcome.moved != 0) {
      pacing.worked(now);
      continue;
    }
    switch (pacing.next(now)) {
      case BackoffStep::pause:
        pause_unlocked();
        break;
      case BackoffStep::yield:
        give_core_away();
        break;
      case BackoffStep::sleep:
        sleep_armed(pacing) ? pacing.slept() : pacing.kept_awake();
        break;
    }
  }
}

// Not holding the lock while it pauses: a user thread's put finds it free more often than not.
void Poller::pause_unlocked() {
  const ArrivalWord next = engine_.arrival_word();  // the word stays readable as long as the engine lives
  engine_.unlock();
  pause_before_poll(next);
  engine_.lock();
}

// False: something waits already.
bool Poller::sleep_armed(ThreadPacing& pacing) {
  if (inside_ > 0 || !interrupt_ || !arm()) return false;
  const Nanoseconds limit = sleep_limit(blind_ ? pacing.take_blind_sleep() : config_.longest_sleep);
  if (limit == 0 || engine_.has_work()) {
    disarm();
    give_core_away();
    return false;
  }
  thread_state_ = ThreadState::armed;
  note_attendance();
  timer_.set_after(limit);
  std::vector<pollfd> descriptors;
  descriptors.push_back({thread_bell_->descriptor(), POLLIN, 0});
  descriptors.push_back({timer_.descriptor(), POLLIN, 0});
  for (const WakeSource* source : sources_) descriptors.push_back({source->descriptor(), POLLIN, 0});
  engine_.unlock();
  poll(descriptors.data(), descriptors.size(), -1);
  engine_.lock();
  if (descriptors.front().revents != 0) thread_bell_->silence();
  if (armed_ && !dozer_in_charge_) disarm();
  return true;
}

// Others poll, or have just polled and may do so again.
void Poller::nap() {
  long_nap_ = (inside_ > 0 || dozer_in_charge_) && entries_ == entries_seen_;
  entries_seen_ = entries_;
  thread_state_ = ThreadState::napping;
  note_attendance();
  timer_.set_after(long_nap_ ? config_.longest_sleep : kShortNap);
  pollfd descriptors[] = {{thread_bell_->descriptor(), POLLIN, 0}, {timer_.descriptor(), POLLIN, 0}};
  engine_.unlock();
  poll(descriptors, 2, -1);
  engine_.lock();
  thread_bell_->silence();
}

void Poller::park() {
  thread_state_ = ThreadState::parked;
  note_attendance();
  engine_.unlock();
  for (Nanoseconds pause = upkept_ != nullptr ? upkeep_.usual_pause() : UINT64_MAX; !rings(*thread_bell_, pause);) {
    pause = keep_up();
  }
  engine_.lock();
  thread_bell_->silence();
}

// Without the lock, which is left to whoever has it: that one makes steps, or has no need of them. Answers how long to
// sleep.
Nanoseconds Poller::keep_up() {
  const bool neglected = upkeep_.is_neglected(upkept_->steps()) && !anybody_dozes();
  if (!neglected || !upkept_->try_borrow()) return upkeep_.usual_pause();
  const bool outstanding = inside_ != 0 || interrupt_ || stop_ || upkept_->keep_up();
  engine_.unlock();
  return outstanding ? upkeep_.usual_pause() : upkeep_.pause_when_all_is_quiet();
}

}  // namespace openlapi
