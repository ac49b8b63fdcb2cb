// The dataplane thread.
#include <poll.h>

#include "dataplane/poller/poller.h"

namespace openlapi {

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
  pollfd descriptor{thread_bell_->descriptor(), POLLIN, 0};
  engine_.unlock();
  poll(&descriptor, 1, -1);
  engine_.lock();
  thread_bell_->silence();
}

}  // namespace openlapi
