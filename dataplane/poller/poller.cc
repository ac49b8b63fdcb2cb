// The user threads' side. The dataplane thread's is in poller_thread.cc.
#include "dataplane/poller/poller.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "dataplane/base/cancellation.h"

namespace openlapi {

namespace {

constexpr std::uint32_t kRoundsBetweenPoints = 1024;  // at which a thread that finds work all the time may be cancelled
constexpr long kRest = 50 * 1000;                     // ns
constexpr Nanoseconds kLongYield = 3 * kMicrosecond;  // another thread has run meanwhile
constexpr Nanoseconds kBlindSleep = 100 * kMicrosecond;  // of a user thread, whose wait somebody feels

// A thread that nothing wakes notices messages later: longer gaps between them count as short.
PollerConfig adapted(PollerConfig config, const std::vector<WakeSource*>& sources, bool blind) {
  const auto immediate = [](const WakeSource* source) { return source->immediate(); };
  if (blind || !std::all_of(sources.begin(), sources.end(), immediate)) config.pacing.wake_up = kBlindWakeUp;
  return config;
}

// Without the engine's lock while it lives.
class Released {
 public:
  explicit Released(PolledEngine& engine) : engine_(engine) { engine_.unlock(); }
  ~Released() { engine_.lock(); }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PolledEngine& engine_;
};

}  // namespace

// A thread that waits, among those that wake_ready() asks.
class Poller::Dozing {
 public:
  Dozing(Poller& poller, WaitCondition& condition) : poller_(poller), condition_(condition) {
    // Before the last look: pairs with anybody_dozes(), which is asked after a condition may have come true.
    poller_.dozing_.fetch_add(1, std::memory_order_seq_cst);
    condition_.next_dozing_ = poller_.first_dozing_;
    poller_.first_dozing_ = &condition_;
  }
  ~Dozing() {
    WaitCondition** link = &poller_.first_dozing_;
    while (*link != &condition_) link = &(*link)->next_dozing_;
    *link = condition_.next_dozing_;
    if (poller_.dozing_.fetch_sub(1, std::memory_order_seq_cst) == 1 && poller_.doze_bell_rung_) {
      poller_.doze_bell_.silence();
      poller_.doze_bell_rung_ = false;
    }
  }
  Dozing(const Dozing&) = delete;
  Dozing& operator=(const Dozing&) = delete;

 private:
  Poller& poller_;
  WaitCondition& condition_;
};

// A user thread that does not poll for a while, without the lock.
class Poller::Asleep {
 public:
  explicit Asleep(Poller& poller) : poller_(poller) {
    --poller_.inside_;
    poller_.note_attendance();
    poller_.engine_.unlock();
  }
  ~Asleep() {
    poller_.engine_.lock();
    poller_.enter();
  }
  Asleep(const Asleep&) = delete;
  Asleep& operator=(const Asleep&) = delete;

 private:
  Poller& poller_;
};

Poller::Poller(PolledEngine& engine, const PollerConfig& config, std::vector<WakeSource*> sources, bool blind)
    : engine_(engine), config_(adapted(config, sources, blind)), sources_(std::move(sources)), blind_(blind) {}

void Poller::wait(WaitCondition& condition, const BackoffLimits& limits) {
  Backoff backoff(limits);
  Step step = Step::first;
  for (std::uint32_t round = 1;; ++round) {
    if (round % kRoundsBetweenPoints == 0) [[unlikely]] {
      condition.waits_long();
      let_cancel();
    }
    const StepOutcome outcome = engine_.progress(step);
    if (outcome.moved != 0 && dozing_.load(std::memory_order_relaxed) != 0) wake_ready();
    if (condition.holds()) return;
    step = Step::first;
    if (outcome.lock_wanted) [[unlikely]]
      relinquish();
    if (outcome.moved != 0) {
      backoff.reset();
      continue;
    }
    switch (backoff.next()) {
      case BackoffStep::pause:
        if (pause(condition)) return;
        if (!outcome.lock_wanted) step = Step::again;
        break;
      case BackoffStep::yield:
        give_core_away();
        break;
      case BackoffStep::sleep:
        condition.waits_long();
        if (doze(condition)) return;
        backoff.reset();
        break;
    }
  }
}

// True: the condition holds. A counter that a peer moves by itself is looked at as often as the next arrival: the peer
// writes the word that says so after it, and a step that looks there takes another line from the peer's processor.
bool Poller::pause(WaitCondition& condition) {
  const ArrivalWord next = engine_.arrival_word();
  if (unattended_ == nullptr || next.word == nullptr || condition.asking_ == Asking::acts) [[likely]] {
    pause_before_poll(next);
    return false;
  }
  for (unsigned looks = 0; looks < tuning::kLooksBetweenPolls; ++looks) {
    cpu_pause();
    if (condition.holds()) return true;
    if (next.word->load(std::memory_order_relaxed) != next.empty) break;
  }
  return false;
}

// True: the condition is known to hold. Where another thread that asks it does what this one's call is for, this one is
// not cancelled in its sleep, but between two short ones, when it knows whether that was done: then its call goes on.
bool Poller::doze(WaitCondition& condition) {
  if (condition.asking_ == Asking::looks) {
    doze_at_most(condition, config_.longest_sleep);
    return false;
  }
  {
    const CancellationOff off;
    doze_at_most(condition, std::min(config_.longest_sleep, kLongestWholeSleep));
  }
  if (condition.holds()) return true;
  pthread_testcancel();
  return false;
}

void Poller::doze_at_most(WaitCondition& condition, Nanoseconds longest) {
  const bool in_charge = inside_ == 1 && thread_state_ != ThreadState::running;
  const Dozing dozing(*this, condition);
  if (!doze_bell_rung_ && !condition.holds() && (!in_charge || arm())) {
    const Nanoseconds limit = in_charge ? sleep_limit(blind_ ? kBlindSleep : longest) : longest;
    if (in_charge && (limit == 0 || engine_.has_work())) {
      disarm();
      rest();
    } else {
      sleep_dozing(in_charge, limit);
    }
  }
}

void Poller::sleep_dozing(bool in_charge, Nanoseconds limit) {
  std::vector<pollfd> descriptors;
  descriptors.push_back({doze_bell_.descriptor(), POLLIN, 0});
  if (in_charge) {
    for (const WakeSource* source : sources_) descriptors.push_back({source->descriptor(), POLLIN, 0});
  }
  timespec timeout{};
  timeout.tv_sec = static_cast<time_t>(limit / kSecond);
  timeout.tv_nsec = static_cast<long>(limit % kSecond);
  dozer_in_charge_ = dozer_in_charge_ || in_charge;
  const Asleep asleep(*this);
  ppoll(descriptors.data(), descriptors.size(), &timeout, nullptr);
}

void Poller::wake_ready() {
  if (doze_bell_rung_) return;
  for (WaitCondition* condition = first_dozing_; condition != nullptr; condition = condition->next_dozing_) {
    if (condition->holds()) {
      doze_bell_rung_ = true;
      doze_bell_.ring();
      return;
    }
  }
}

// The last user thread stops polling and the dataplane thread is not running.
void Poller::hand_over() {
  if (thread_state_ == ThreadState::napping) {
    if (long_nap_) [[unlikely]] {
      timer_.set_after(kShortNap);
      long_nap_ = false;
    }
    return;
  }
  // Polling mode: only a sleeping user thread can go on.
  if (dozing_.load(std::memory_order_relaxed) != 0 && !doze_bell_rung_) {
    doze_bell_rung_ = true;
    doze_bell_.ring();
  }
}

// A call has left something behind and whoever is in charge sleeps.
void Poller::settle() {
  if (engine_.has_work()) engine_.flush();
  const Nanoseconds deadline = engine_.deadline();
  const bool earlier = deadline < alarm_ && alarm_ - deadline > kAlarmSlack;
  if (thread_state_ == ThreadState::armed) {
    if (engine_.has_work()) {
      thread_bell_->ring();
    } else if (earlier) {
      const Nanoseconds now = engine_.now();
      timer_.set_after(deadline > now ? deadline - now : 0);
      alarm_ = deadline;
    }
  } else if (dozer_in_charge_ && !doze_bell_rung_ && (earlier || engine_.has_work())) {
    doze_bell_rung_ = true;
    doze_bell_.ring();
  }
}

bool Poller::arm() {
  for (std::size_t count = 0; count < sources_.size(); ++count) {
    if (sources_[count]->arm()) continue;
    while (count > 0) sources_[--count]->disarm();
    return false;
  }
  armed_ = true;
  return true;
}

void Poller::disarm() {
  for (WakeSource* source : sources_) source->disarm();
  armed_ = false;
  dozer_in_charge_ = false;
  if (thread_state_ == ThreadState::armed) {
    // It sleeps on, now as one who has no charge; leave() sees to it that it wakes.
    thread_state_ = ThreadState::napping;
    long_nap_ = true;
  }
}

// Lets a thread that waits for the lock have it.
void Poller::relinquish() { engine_.hand_over_lock(); }

void Poller::give_core_away() {
  const Released released(engine_);
  sched_yield();
  pthread_testcancel();
}

// sched_yield() alone does not make room for everybody: on Linux 6.18 a thread that yields beside one that wakes and
// sleeps in turns (our dataplane thread, between two calls) kept a processor for minutes, and all else that was to run
// there waited, threads of the kernel as well. A thread that sleeps leaves it in any case. One that has the core for
// itself does not: its yields return at once, and to wake up may take it hundreds of microseconds.
void Poller::rest() {
  if (long_yields_ < kLongYieldsBeforeSleep) {
    const Nanoseconds begin = engine_.now();
    give_core_away();
    if (engine_.now() - begin > kLongYield) ++long_yields_;
    return;
  }
  long_yields_ = 0;
  const Released released(engine_);
  const timespec duration{0, kRest};
  nanosleep(&duration, nullptr);  // a cancellation point
}

void Poller::let_cancel() {
  const Released released(engine_);
  pthread_testcancel();
}

// How long whoever is in charge may sleep; 0: not at all. Notes when that is over.
Nanoseconds Poller::sleep_limit(Nanoseconds longest) {
  const Nanoseconds now = engine_.now();
  const Nanoseconds deadline = engine_.deadline();
  if (deadline <= now) return 0;
  const Nanoseconds limit = deadline - now < longest ? deadline - now : longest;
  alarm_ = now + limit;
  return limit;
}

}  // namespace openlapi
