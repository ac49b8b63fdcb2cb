// The life of a context, and its calls that wait.
#include "api/context.h"

#include <sched.h>

#include <utility>

#include "api/context_resources.h"

namespace openlapi {

namespace {

constexpr Nanoseconds kDrainAtMost = 2 * kSecond;  // LAPI_Term's wait for acknowledgements and completion handlers
constexpr Nanoseconds kJoinAtMost = 5 * kSecond;   // a thread that runs a handler which does not return is let go
constexpr std::uint32_t kIdlePollsBeforeYield = 100;
constexpr int kAbandonTries = 1000;

}  // namespace

void FreeContextResources::operator()(ContextResources* resources) const { delete resources; }

Nanoseconds Context::now() { return resources_->clock.now(); }

unsigned Context::progress() {
  const unsigned done = endpoint_->progress();
  if (attention_) [[unlikely]] attend();
  return done;
}

bool Context::reserve() {
  bool expected = false;
  return reserved_.compare_exchange_strong(expected, true, std::memory_order_acquire);
}

void Context::open(ContextResourcesPointer resources) {
  resources_ = std::move(resources);
  endpoint_ = resources_->endpoint.get();
  poller_ = resources_->poller.get();
  tasks_ = resources_->bootstrap->size();
  max_user_header_ = endpoint_->max_user_header();
  closing_ = resources_released_ = termination_deferred_ = attention_ = collective_busy_ = false;
  running_ = RunningHandler::none;
  sends_reported_ = receives_reported_ = 0;
  idle_polls_ = 0;
  check_arguments_.store(false, std::memory_order_relaxed);
  polling_mode_.store(false, std::memory_order_relaxed);
  generation_ = generation_ % (UINT32_MAX / kMaxContexts - 1) + 1;
  name_ = generation_ * kMaxContexts + index_;
  handle_.store(name_, std::memory_order_release);
}

void Context::set_polling_mode(bool polling) {
  polling_mode_.store(polling, std::memory_order_relaxed);
  poller_->set_interrupt_mode(!polling);
}

void Context::terminate() {
  handle_.store(closed_handle(index_), std::memory_order_relaxed);
  closing_ = true;
  if (running_ != RunningHandler::none) {
    // The engine is on the stack. Whoever called it finishes the job at its next safe point.
    termination_deferred_ = attention_ = true;
    return;
  }
  finish_termination();
}

void Context::finish_termination() {
  pin();
  poller_->wake_ready();
  drain();
  Poller& poller = *poller_;
  CompletionThreads& completions = *resources_->completions;
  poller.request_stop();
  completions.request_stop();
  lock_.unlock();
  poller.join(kJoinAtMost);
  completions.join(kJoinAtMost);
  lock_.lock();
  resources_released_ = true;
  unpin();
}

// Sends what waits and waits for the peers, and, unless it runs below a callback, for completion handlers.
void Context::drain() {
  const Nanoseconds until = now() + kDrainAtMost;
  const bool below_callback = in_context_callback();
  auto finished = [&] {
    return (endpoint_->drained() && (below_callback || resources_->completions->idle())) || now() >= until;
  };
  struct Drained final : WaitCondition {
    explicit Drained(decltype(finished)& test) : test_(test) {}
    bool holds() override { return test_(); }
    decltype(finished)& test_;
  } condition(finished);
  poller_->enter();
  poller_->wait(condition);
  poller_->leave();
}

void Context::unpin() {
  if (--pins_ == 0 && resources_released_) [[unlikely]] free_resources();
}

void Context::thread_ends() {
  lock_.lock();
  unpin();
  lock_.unlock();
}

void Context::free_resources() {
  ContextResourcesPointer doomed = std::move(resources_);
  endpoint_ = nullptr;
  poller_ = nullptr;
  faults_.clear();
  attention_ = resources_released_ = false;
  // Without the lock: closing descriptors and unmapping memory take their time, and somebody may wait for it.
  lock_.unlock();
  doomed.reset();
  lock_.lock();
  give_back();
}

void Context::abandon() {
  if (!reserved_.load(std::memory_order_acquire) || lock_.owned_by_caller()) return;
  for (int tries = 0; !lock_.try_lock(); ++tries) {
    if (tries == kAbandonTries) return;  // its owner runs a handler; it will not come back
    sched_yield();
  }
  handle_.store(closed_handle(index_), std::memory_order_relaxed);
  if (poller_ != nullptr) poller_->request_stop();
  lock_.unlock();
}

void Context::probe() {
  const unsigned done = progress();
  if (poller_ == nullptr) return;
  if (done != 0) {
    idle_polls_ = 0;
    if (poller_->anybody_dozes()) poller_->wake_ready();
  } else if (++idle_polls_ >= kIdlePollsBeforeYield) {
    // A program that probes in a loop shares its core with the task it waits for.
    lock_.unlock();
    sched_yield();
    lock_.lock();
  }
}

bool Context::poll_messages(unsigned rounds, lapi_msg_state_t& state) {
  pin();
  poller_->enter();
  auto changed = [this] {
    return endpoint_->sends_completed() != sends_reported_ || endpoint_->receives_completed() != receives_reported_;
  };
  for (unsigned round = 0; round < rounds && !closing_ && !changed(); ++round) {
    probe();
    if (lock_.wanted()) {
      lock_.unlock();
      cpu_pause();
      lock_.lock();
    }
  }
  state = 0;
  if (endpoint_->sends_completed() != sends_reported_) state |= LAPI_SEND_COMPLETE;
  if (endpoint_->receives_completed() != receives_reported_) state |= LAPI_RECV_COMPLETE;
  if (state == (LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE)) state |= LAPI_BOTH_COMPLETE;
  if (state == 0) state = LAPI_DISP_CNTR;
  sends_reported_ = endpoint_->sends_completed();
  receives_reported_ = endpoint_->receives_completed();
  const bool open = !closing_;
  poller_->leave();
  unpin();
  return open;
}

int Context::fence() {
  const FenceTicket ticket = endpoint_->begin_fence();
  FenceState state = endpoint_->fence_state(ticket);
  const bool open = wait_until([&] {
    if (state == FenceState::pending) state = endpoint_->fence_state(ticket);
    return state != FenceState::pending;
  });
  if (state == FenceState::done) return LAPI_SUCCESS;
  return open ? LAPI_ERR_NO_CONNECTIVITY : LAPI_ERR_HNDL_INVALID;
}

void Context::counter_was_set() {
  // Sleepers look at their counters once more after they have made themselves known; pairs with the fence there.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (lock_.owned_by_caller()) return;
  lock_.lock();
  if (poller_ != nullptr && poller_->anybody_dozes()) poller_->wake_ready();
  lock_.unlock();
}

}  // namespace openlapi
