// The life of a context, and its calls that wait.
#include "api/context/context.h"

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <utility>

#include "api/arguments/refusal.h"
#include "api/context/context_resources.h"
#include "api/context/path_report.h"
#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/counter/counters.h"
#include "dataplane/endpoint/fault_explanation.h"
#include "dataplane/peers/farewell.h"
#include "dataplane/sync/fences.h"

namespace openlapi {

namespace {

constexpr Nanoseconds kJoinAtMost = 5 * kSecond;  // a thread that runs a handler which does not return is let go
constexpr std::uint32_t kIdlePollsBeforeYield = 100;
constexpr std::uint32_t kIdlePollsBetweenNotes = 1024;  // of them in the task's page
constexpr int kAbandonTries = 1000;

class Pin {
 public:
  explicit Pin(Context& context) : context_(context) { context_.pin(); }
  ~Pin() { context_.unpin(); }
  Pin(const Pin&) = delete;
  Pin& operator=(const Pin&) = delete;

 private:
  Context& context_;
};

// A thread that is cancelled in its fence waits no longer; the operations go on.
class FenceWait {
 public:
  FenceWait(Context& context, const FenceTicket& ticket) : context_(context), ticket_(ticket), pin_(context) {}
  ~FenceWait() {
    if (!ended_) context_.endpoint().fences().forget(ticket_);
  }
  void end() { ended_ = true; }
  FenceWait(const FenceWait&) = delete;
  FenceWait& operator=(const FenceWait&) = delete;

 private:
  Context& context_;
  const FenceTicket ticket_;
  const Pin pin_;
  bool ended_ = false;
};

// Of the context whose lock the calling thread holds.
const MessageDirectory* endpoint_inside() {
  for (Context& context : context_table.contexts) {
    if (context.context_lock().owned_by_caller()) return context.message_directory();
  }
  return nullptr;
}

}  // namespace

bool holds_some_lock() {
  return std::any_of(std::begin(context_table.contexts), std::end(context_table.contexts),
                     [](const Context& context) { return context.context_lock().owned_by_caller(); });
}

void FreeContextResources::operator()(ContextResources* resources) const { delete resources; }

bool Context::reserve() {
  bool expected = false;
  return reserved_.compare_exchange_strong(expected, true, std::memory_order_acquire);
}

void Context::open(ContextResourcesPointer resources) {
  resources_ = std::move(resources);
  engine_.begin(*resources_->endpoint, resources_->clock);
  poller_ = resources_->poller.get();
  tasks_ = resources_->bootstrap->size();
  own_task_ = resources_->bootstrap->task();
  recovery_.begin();
  max_user_header_ = endpoint().sizes().user_header;
  copy_limit_ = static_cast<std::uint32_t>(resources_->settings.retransmit_buffer_size);
  guests_.begin();
  context_lock().set_guests(&guests_);
  closing_ = resources_released_ = false;
  collectives_.begin();
  handlers_.begin();
  sends_reported_ = receives_reported_ = 0;
  idle_polls_ = 0;
  if (resources_->settings.explain_faults) explain_memory_faults(endpoint_inside, own_task_);
  tell_refusals(resources_->settings.info_level, own_task_);
  set_check_arguments(resources_->settings.check_arguments);
  polling_mode_.store(false, std::memory_order_relaxed);
  generation_ = generation_ % (UINT32_MAX / kMaxContexts - 1) + 1;
  name_ = generation_ * kMaxContexts + index_;
  handle_.store(name_, std::memory_order_release);
  count_opened_context();
}

std::shared_ptr<Bell> Context::set_polling_mode(bool polling) {
  polling_mode_.store(polling, std::memory_order_relaxed);
  return poller_->set_interrupt_mode(!polling);
}

// Checked arguments include the memory that vectors and programs name.
void Context::set_check_arguments(bool check) {
  if (check) catch_memory_faults();
  check_arguments_.store(check, std::memory_order_relaxed);
  endpoint().guard_layouts(check);
}

void Context::terminate() {
  handle_.store(closed_handle(index_), std::memory_order_seq_cst);
  closing_ = true;
  conditions_.close();
  pin();
  poller_->wake_ready();
  drain();
  Poller& poller = *poller_;
  CompletionThreads& completions = *resources_->completions;
  poller.request_stop();
  completions.request_stop();
  unlock();
  poller.join(kJoinAtMost);
  completions.join(kJoinAtMost);
  lock();
  resources_released_ = true;
  count_closed_context();
  unpin();
}

// The end of the wait in drain() has come, and something is left.
void Context::say_left(const char* who, std::size_t count, const char* what) const {
  if (count == 0) return;
  std::fprintf(stderr,
               "openlapi: task %u, LAPI_Term: %s %zu %s%s within %d s; they may be lost (OPENLAPI_TERM_WAIT is the "
               "longest wait)\n",
               own_task_, who, count, what, count == 1 ? "" : "s", resources_->settings.term_wait);
}

// Sends what waits and waits for the peers, for what this task has asked of them and sent to itself, and, unless it
// runs below a callback, for completion handlers.
void Context::drain() {
  const Nanoseconds until = now() + static_cast<Nanoseconds>(resources_->settings.term_wait) * kSecond;
  const bool below_callback = in_context_callback();
  auto finished = [&] {
    const bool done = endpoint().drained() && endpoint().unfinished().not_answered == 0 &&
                      endpoint().unfinished().not_accepted_of_own == 0 && guests_.unbegun() == 0;
    return (done && (below_callback || resources_->completions->idle())) || now() >= until;
  };
  struct Drained final : WaitCondition {
    explicit Drained(decltype(finished)& test) : test_(test) {}
    bool holds() override { return test_(); }
    void waits_long() override { wait_.note({WaitedCall::term}); }
    decltype(finished)& test_;
    LongWait wait_;
  } condition(finished);
  poller_->enter();
  poller_->wait(condition);
  poller_->leave();
  say_farewell(endpoint().peers(), now());
  const std::size_t not_taken = endpoint().drained() ? 0 : endpoint().unfinished().not_taken;
  say_left("other tasks have not taken", not_taken + guests_.unbegun(), "message");
  say_left("other tasks have not answered", endpoint().unfinished().not_answered, "request");
  say_left("its own header handlers have not taken", endpoint().unfinished().not_accepted_of_own, "message");
  if (resources_->settings.info_level >= kLevelInformation) {
    print_paths(endpoint(), *resources_->routes, *resources_->bootstrap, now());
  }
}

void Context::attend() {
  if (running() != RunningHandler::none) return;
  pin();
  handlers_.deliver_faults();
  if (collectives_.left_alone()) collectives_.tend();
  if (guests_.unbegun() != 0) guests_.go_on();
  engine_.set_attention(collectives_.left_alone() || handlers_.has_faults() || guests_.unbegun() != 0);
  wake_sleepers();  // their waits may have become hopeless
  unpin();
}

void Context::thread_begins() {
  for (const std::unique_ptr<Transport>& transport : resources_->transports) {
    ThreadResources* const resources = transport->capabilities().thread_resources;
    if (resources != nullptr) resources->enter_thread();
  }
}

void Context::thread_ends() {
  lock();
  unpin();
  unlock();
}

void Context::free_resources() {
  // Pairs with look(): either it has found the handle closed, or it is counted; it waits for nobody.
  while (lookers_.load(std::memory_order_seq_cst) != 0) sched_yield();
  ContextResourcesPointer doomed = std::move(resources_);
  engine_.end();
  poller_ = nullptr;
  handlers_.end();
  resources_released_ = false;
  // Without the lock: closing descriptors and unmapping memory take their time, and somebody may wait for it.
  unlock();
  doomed.reset();
  lock();
  give_back();
}

void Context::abandon() {
  if (!reserved_.load(std::memory_order_acquire) || context_lock().owned_by_caller()) return;
  for (int tries = 0; !context_lock().try_lock(); ++tries) {
    if (tries == kAbandonTries) return;  // its owner runs a handler; it will not come back
    sched_yield();
  }
  handle_.store(closed_handle(index_), std::memory_order_relaxed);
  if (poller_ != nullptr) poller_->request_stop();
  unlock();
}

bool Context::probe() {
  const unsigned done = engine_.progress(Step::first).moved;
  if (poller_ == nullptr) return true;
  if (done != 0) {
    idle_polls_ = 0;
    wake_sleepers();
  } else if (++idle_polls_ >= kIdlePollsBeforeYield && !context_lock().wanted()) {
    if (idle_polls_ % kIdlePollsBetweenNotes == 0) count_fruitless_polls();
    // A program that probes in a loop shares its core with the task it waits for.
    const Pin pin(*this);  // LAPI_Term may come meanwhile, and a cancellation
    poller_->rest();
    return true;
  }
  if (context_lock().wanted()) [[unlikely]]
    let_others_in();
  return done != 0;
}

// A program that keeps the lock between its calls keeps everybody else out anyway. A few looks at the one word in which
// the next packet shows notice it sooner than coming back with another call.
void Context::look_for_arrival() {
  const ArrivalWord next = endpoint().arrival_word();
  if (next.word == nullptr || closing_) return;
  idle_polls_ += tuning::kLooksBetweenPolls;
  pause_before_poll(next);
  if (next.word->load(std::memory_order_relaxed) != next.empty) probe();
}

// Chapter 12: a program that polls in a long critical section gives others a chance to have the lock.
void Context::let_others_in() {
  const Pin pin(*this);
  poller_->relinquish();
}

bool Context::poll_messages(unsigned rounds, bool lock_is_kept, lapi_msg_state_t& state) {
  const bool others_poll = waits_inside_ > recovery_.patient_waits();
  const Inside inside(*this);
  std::uint64_t sends = endpoint().completed().sends, receives = endpoint().completed().receives;
  for (unsigned round = 0; round < rounds && !closing_; ++round) {
    if (sends != sends_reported_ || receives != receives_reported_) break;
    if (!probe() && lock_is_kept) look_for_arrival();
    sends = endpoint().completed().sends;
    receives = endpoint().completed().receives;
  }
  state = 0;
  if (sends != sends_reported_) state |= LAPI_SEND_COMPLETE;
  if (receives != receives_reported_) state |= LAPI_RECV_COMPLETE;
  if (state == (LAPI_SEND_COMPLETE | LAPI_RECV_COMPLETE)) state |= LAPI_BOTH_COMPLETE;
  if (state == 0) state = LAPI_DISP_CNTR;
  if (others_poll) state |= LAPI_POLLING_NET;
  sends_reported_ = sends;
  receives_reported_ = receives;
  return !closing_;
}

int Context::fence() {
  const FenceTicket ticket = endpoint().fences().begin();
  FenceWait waiting(*this, ticket);
  const int code = await_fence(ticket, WaitedCall::fence);
  waiting.end();
  return code;
}

int Context::await_fence(const FenceTicket& ticket, WaitedCall call) {
  FenceState state = endpoint().fences().state(ticket);
  const auto ended = [&] {
    if (state == FenceState::pending) state = endpoint().fences().state(ticket);
    return state != FenceState::pending;
  };
  const auto what = [&] {
    PeerIndex awaited = UINT32_MAX;
    if (state == FenceState::pending) state = endpoint().fences().state(ticket, &awaited);
    return WaitedFor{call, static_cast<std::int32_t>(awaited)};
  };
  const bool open = wait_until(ended, what);
  if (state == FenceState::done) return LAPI_SUCCESS;
  if (state == FenceState::peer_purged) return LAPI_ERR_TGT_PURGED;
  return open ? LAPI_ERR_NO_CONNECTIVITY : LAPI_ERR_HNDL_INVALID;
}

void Context::counter_was_set(const lapi_cntr_t* counter) {
  // Sleepers look at their counters once more after they have made themselves known; pairs with the fence there.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool mine = context_lock().owned_by_caller();
  if (!mine) lock();
  if (is_open()) {
    endpoint().counters().forget_loss(address_bits(counter));
    recovery_.counter_was_set(counter);
  }
  if (mine && running() != RunningHandler::none) return;  // whoever runs the engine looks after the sleepers
  if (poller_ != nullptr && poller_->anybody_dozes()) poller_->wake_ready();
  if (!mine) unlock();
}

}  // namespace openlapi
