// One LAPI context: what a handle stands for. The 16 Context objects live as long as the process. What a context needs
// while it is open (engine, transports, threads) is in ContextResources, from LAPI_Init to LAPI_Term. So a thread may
// always access a Context, lock it, and then see whether its handle is still valid.
//
// States: closed -> open (LAPI_Init) -> closing (LAPI_Term: the handle is refused from now on and waiting threads are
// woken) -> closed, when the last thread has left it. The thread that runs LAPI_Term may itself be inside, in a
// handler; then the resources that it still uses are freed only when it has come out.
//
// Everything except find_context() and the handle needs the context's lock, unless stated otherwise.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "api/arguments/refusal.h"
#include "api/context/collective_calls.h"
#include "api/context/completion_host.h"
#include "api/context/guests.h"
#include "api/context/lock_conditions.h"
#include "api/context/locked_engine.h"
#include "api/context/recovery.h"
#include "api/context/user_handlers.h"
#include "api/include/lapi.h"
#include "api/lock/context_lock.h"
#include "dataplane/base/task_page.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/poller/poller.h"

namespace openlapi {

struct ContextResources;
struct FreeContextResources {
  void operator()(ContextResources* resources) const;
};
using ContextResourcesPointer = std::unique_ptr<ContextResources, FreeContextResources>;

inline constexpr unsigned kMaxContexts = 16;
inline constexpr int kAddressTableSize = 256;

// What handlers that run inside a context may call, on their own context and on others.
enum class CallKind : std::uint8_t {
  communicates,  // refused in header handlers
  waits,         // refused in header handlers and inline completion handlers
  local,         // allowed everywhere
};

inline bool handler_refuses(CallKind kind) {
  const RunningHandler handler = innermost_handler();
  if (handler == RunningHandler::none || kind == CallKind::local) [[likely]]
    return false;
  return handler == RunningHandler::header || kind == CallKind::waits;
}

class Context {
 public:
  constexpr explicit Context(unsigned index)
      : handle_(closed_handle(index)),
        engine_(index),
        guests_(index),
        completion_host_(index),
        handlers_(index),
        collectives_(index),
        recovery_(index),
        index_(index) {}

  // Any thread, without the lock.
  bool is(lapi_handle_t handle) const { return handle_.load(std::memory_order_relaxed) == handle; }
  bool checks_arguments() const { return check_arguments_.load(std::memory_order_relaxed); }
  bool polling_mode() const { return polling_mode_.load(std::memory_order_relaxed); }
  void counter_was_set(const lapi_cntr_t* counter);

  ContextLock& context_lock() { return engine_.context_lock(); }
  const ContextLock& context_lock() const { return engine_.context_lock(); }
  void lock() { engine_.lock(); }
  void unlock() { engine_.unlock(); }
  LockConditions& lock_conditions() { return conditions_; }
  bool is_open() const { return engine_.is_there(); }  // until the resources are freed
  Endpoint& endpoint() { return engine_.endpoint(); }
  const MessageDirectory* message_directory() const { return is_open() ? &engine_.endpoint().directory() : nullptr; }
  Nanoseconds now() { return engine_.now(); }
  Poller& poller() { return *poller_; }
  ContextResources& resources() { return *resources_; }
  std::uint32_t tasks() const { return tasks_; }
  std::uint32_t own_task() const { return own_task_; }
  std::uint32_t max_user_header() const { return max_user_header_; }
  std::uint32_t copy_limit() const { return copy_limit_; }
  bool closing() const { return closing_; }

  // The parts of the context.
  LockedEngine& engine() { return engine_; }
  Guests& guests() { return guests_; }
  CompletionHost& completion_host() { return completion_host_; }
  UserHandlers& handlers() { return handlers_; }
  RunningHandler running() const { return handlers_.running(); }
  CollectiveCalls& collectives() { return collectives_; }
  Recovery& recovery() { return recovery_; }
  const Recovery& recovery() const { return recovery_; }
  // Asked for by the parts: attend() at the next safe point, and sleeping threads check what they wait for.
  void call_attention() { engine_.set_attention(true); }
  // The safe point: the engine is not on the stack, no handler runs.
  [[gnu::noinline]] void attend();
  void wake_sleepers() {
    if (poller_->anybody_dozes()) poller_->wake_ready();
  }

  // Without the lock: runs body() while the resources are kept. It may read what is constant or atomic.
  template <class Body>
  int look(lapi_handle_t handle, Body body);

  // Call it at the end of a call that does not poll, outside handlers.
  void after_call() {
    if (engine_.wants_attention()) [[unlikely]] {
      attend();
    } else {
      poller_->after_call();
    }
  }

  // Polls, at least one step, until done(), which must not change anything unless it returns true. False: the context
  // is being closed, whatever done() says. Context and resources are kept while this runs but may be gone afterwards.
  // what() returns a WaitedFor and is called when the wait takes long.
  template <class Done, class What>
  bool wait_until(Done done, What what, Asking asking = Asking::looks) {
    return wait_until(std::move(done), std::move(what), poller_->usual_wait(), asking);
  }
  template <class Done, class What>
  bool wait_until(Done done, What what, const BackoffLimits& limits, Asking asking = Asking::looks);

  // Whether a call that polls may leave its step to later ones, since it would find nothing but timers. These get every
  // sixteenth. With the lock.
  bool may_leave_step() {
    return ++steps_left_ % kLeftSteps != 0 && !closing_ && nothing_arrives(endpoint().arrival_word());
  }

  // For LAPI_Probe: one step. True: something moved, or the lock was released meanwhile.
  bool probe();
  // For LAPI_Msgpoll: at most `rounds` steps. False: closed. `lock_is_kept`: the caller had the lock before the call.
  bool poll_messages(unsigned rounds, bool lock_is_kept, lapi_msg_state_t& state);

  // LAPI_Fence: waits until everything that this task has begun is in place; the other one: what it had begun when it
  // took the ticket. They return a return code.
  int fence();
  int await_fence(const FenceTicket& ticket, WaitedCall call);

  // After a switch the caller rings the returned bell, if any, without the lock (Poller::set_interrupt_mode()).
  [[nodiscard]] std::shared_ptr<Bell> set_polling_mode(bool polling);
  void set_check_arguments(bool check);

  // For LAPI_Init: the context becomes open under a new handle. The resources are complete, threads are not started.
  void open(ContextResourcesPointer resources);
  lapi_handle_t name() const { return name_; }
  // For LAPI_Term, right after the handle was found valid.
  void terminate();
  // For exit() without LAPI_Term: from now on nothing runs any more. Without the lock.
  void abandon();
  // Takes the object for a new context; false: it is in use. Without the lock.
  bool reserve();
  void give_back() { reserved_.store(false, std::memory_order_release); }

  // A thread of the context: its first act, with the lock, and its last, without it.
  void thread_begins();
  void thread_ends();

  // A thread of the context is about to be started (by the caller of open()).
  void pin() { ++pins_; }
  void unpin() {
    if (--pins_ == 0 && resources_released_) [[unlikely]]
      free_resources();
  }

 private:
  // A value that no lookup of this object can ask for: the low bits of a handle identify its object.
  static constexpr lapi_handle_t closed_handle(unsigned index) { return (index + 1) % kMaxContexts; }

  static constexpr std::uint32_t kLeftSteps = 16;

  class Inside;

  void let_others_in();
  void look_for_arrival();
  void drain();
  void say_left(const char* who, std::size_t count, const char* what) const;
  void free_resources();

  // Read by every call.
  std::atomic<lapi_handle_t> handle_;
  std::atomic<bool> check_arguments_{false};
  std::atomic<bool> polling_mode_{false};
  std::uint32_t tasks_ = 0;
  std::uint32_t own_task_ = 0;
  std::uint32_t max_user_header_ = 0;
  std::uint32_t copy_limit_ = 0;
  LockedEngine engine_;
  LockConditions conditions_;
  Poller* poller_ = nullptr;
  bool closing_ = false;
  bool resources_released_ = false;  // LAPI_Term has finished; the last thread to leave frees them

  unsigned pins_ = 0;  // threads that need the resources although they may release the lock
  lapi_handle_t name_ = 0;
  std::uint32_t steps_left_ = 0;  // how often may_leave_step() was asked
  std::uint32_t idle_polls_ = 0;  // fruitless LAPI_Probe and LAPI_Msgpoll rounds in a row
  std::uint64_t sends_reported_ = 0;
  std::uint64_t receives_reported_ = 0;
  ContextResourcesPointer resources_;
  Guests guests_;
  CompletionHost completion_host_;
  std::atomic<std::uint32_t> lookers_{0};
  std::uint32_t waits_inside_ = 0;  // threads that poll or wait, awake or asleep
  std::uint32_t generation_ = 0;
  UserHandlers handlers_;
  CollectiveCalls collectives_;
  Recovery recovery_;
  const unsigned index_;
  std::atomic<bool> reserved_{false};

  template <class Done, class What>
  friend class ContextCondition;
};

// Whether the calling thread holds the lock of some context: it runs an inline handler, or has locked the context.
bool holds_some_lock();

// The open context of a handle. Null: zero, stale, terminated or never valid. Costs a table look-up and a comparison.
inline Context* find_context(lapi_handle_t handle);

// Never destroyed: threads may look at it while the process exits.
union ContextTable {
  constexpr ContextTable();
  ~ContextTable() {}
  Context contexts[kMaxContexts];
};
extern ContextTable context_table;

inline Context& ContextPart::context() const { return context_table.contexts[index_]; }

// The context that the handle names or once named.
inline Context& context_of_slot(lapi_handle_t handle) { return context_table.contexts[handle % kMaxContexts]; }

inline Context* find_context(lapi_handle_t handle) {
  Context& context = context_of_slot(handle);
  return context.is(handle) ? &context : nullptr;
}

// One LAPI call on a context: holds the lock, which is taken at most once, and knows the reason if the call is refused.
// EAGAIN: the caller is a handler of another context, and a thread is inside this one.
class Call {
 public:
  [[gnu::always_inline]] Call(Context& context, lapi_handle_t handle, CallKind kind) : context_(context) {
    ContextLock& lock = context.context_lock();
    if (lock.owned_by_caller()) [[unlikely]] {
      if (handler_refuses(kind)) error_ = refuse_in_handler(kind == CallKind::waits);
    } else if (in_handler_inside()) [[unlikely]] {
      if (handler_refuses(kind) || !lock.try_lock()) {
        error_ = handler_refuses(kind) ? refuse_in_handler(kind == CallKind::waits) : EAGAIN;
        return;
      }
      taken_ = true;
    } else {
      lock.lock();
      taken_ = true;
    }
    if (!context.is(handle)) [[unlikely]] {
      error_ = LAPI_ERR_HNDL_INVALID;
    } else if (lock.has_guest() && context.running() == RunningHandler::none) [[unlikely]] {
      context.guests().admit_guests();  // they came first
    }
  }
  [[gnu::always_inline]] ~Call() {
    if (taken_) context_.context_lock().unlock();
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  int error() const { return error_; }
  bool took_lock() const { return taken_; }

 private:
  Context& context_;
  int error_ = LAPI_SUCCESS;
  bool taken_ = false;
};

template <class Done, class What>
class ContextCondition final : public WaitCondition {
 public:
  ContextCondition(Context& context, Done& done, What& what, Asking asking)
      : WaitCondition(asking), context_(context), done_(done), what_(what) {}
  bool holds() override { return context_.closing_ || done_(); }
  void waits_long() override { wait_.note(what_()); }

 private:
  Context& context_;
  Done& done_;
  What& what_;
  LongWait wait_;
};

template <class Body>
int Context::look(lapi_handle_t handle, Body body) {
  // Before the handle is looked at: pairs with free_resources().
  lookers_.fetch_add(1, std::memory_order_seq_cst);
  const bool open = handle_.load(std::memory_order_seq_cst) == handle;
  if (open) body();
  lookers_.fetch_sub(1, std::memory_order_release);
  return open ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
}

// A thread that polls, or waits without polling. The resources are kept meanwhile.
class Context::Inside {
 public:
  explicit Inside(Context& context) : context_(context) {
    context_.pin();
    ++context_.waits_inside_;
    context_.poller_->enter();
  }
  ~Inside() {
    context_.poller_->leave();
    --context_.waits_inside_;
    context_.unpin();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Context& context_;
};

template <class Done, class What>
bool Context::wait_until(Done done, What what, const BackoffLimits& limits, Asking asking) {
  ContextCondition<Done, What> condition(*this, done, what, asking);
  const Inside inside(*this);
  poller_->wait(condition, limits);
  return !closing_;
}

}  // namespace openlapi
