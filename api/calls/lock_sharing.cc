// The nine functions that share a context's lock with the program. They are called often and do not know ERROR_CHK:
// what they check costs next to nothing, and they return errno values as the functions of pthreads do.
#include "api/calls/lock_sharing.h"

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>
#include <new>

#include "api/context/context.h"
#include "dataplane/base/cancellation.h"
#include "dataplane/base/task_page.h"

namespace openlapi {

namespace {

constexpr long kNanosecondsPerSecond = 1000000000;

// What a lapi_cond_t holds while it is initialized.
struct Condition {
  static constexpr std::uint64_t kMark = 0x6c6170695f636f6eu;

  std::atomic<std::uint64_t> mark;
  // Handle in the upper half, number of waiting threads in the lower half: so two contexts that are given the same
  // condition variable at the same moment find out, although each has its own lock.
  std::atomic<std::uint64_t> waiting;
};
static_assert(sizeof(Condition) <= sizeof(lapi_cond_t) && alignof(Condition) <= alignof(lapi_cond_t));

// Null: it is not initialized.
Condition* condition_of(lapi_cond_t* place) {
  if (place == nullptr) return nullptr;
  auto* condition = std::launder(reinterpret_cast<Condition*>(place));
  return condition->mark.load(std::memory_order_relaxed) == Condition::kMark ? condition : nullptr;
}

// Counts the calling thread as one that waits. False: others wait under another handle.
bool count_in(Condition& condition, lapi_handle_t handle) {
  std::uint64_t now = condition.waiting.load(std::memory_order_relaxed);
  std::uint64_t then = 0;
  do {
    const bool alone = static_cast<std::uint32_t>(now) == 0;
    if (!alone && now >> 32 != handle) return false;
    then = alone ? (std::uint64_t{handle} << 32) + 1 : now + 1;
  } while (!condition.waiting.compare_exchange_weak(now, then, std::memory_order_relaxed));
  return true;
}

// A thread that has been counted in, as long as it waits: it returns, or is cancelled, with the lock, but not with that
// of a context that was terminated meanwhile.
class Waiting {
 public:
  Waiting(Context& context, lapi_handle_t handle, Condition& condition)
      : context_(context), handle_(handle), condition_(condition) {}
  ~Waiting() {
    condition_.waiting.fetch_sub(1, std::memory_order_relaxed);
    if (!context_.is(handle_)) [[unlikely]]
      context_.context_lock().unlock();
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Context& context_;
  lapi_handle_t handle_;
  Condition& condition_;
};

int lock(lapi_handle_t handle) {
  Context* context = find_context(handle);
  if (context == nullptr) return EINVAL;
  ContextLock& lock = context->context_lock();
  if (lock.owned_by_caller() || in_handler_inside()) return EDEADLK;
  lock.lock();
  if (context->is(handle)) [[likely]]
    return 0;
  lock.unlock();
  return EINVAL;
}

int trylock(lapi_handle_t handle) {
  Context* context = find_context(handle);
  if (context == nullptr) return EINVAL;
  ContextLock& lock = context->context_lock();
  if (!lock.try_lock()) return EBUSY;
  if (context->is(handle)) [[likely]]
    return 0;
  lock.unlock();
  return EINVAL;
}

// The owner may release it under the handle with which it took it although the context is terminated meanwhile.
int unlock(lapi_handle_t handle) {
  Context& context = context_of_slot(handle);
  ContextLock& lock = context.context_lock();
  if (!lock.owned_by_caller()) return context.is(handle) ? EPERM : EINVAL;
  if (context.name() != handle) return EINVAL;
  if (context.running() != RunningHandler::none) return EPERM;
  lock.unlock();
  return 0;
}

int getowner(lapi_handle_t handle, pthread_t* thread) {
  Context* context = find_context(handle);
  if (context == nullptr || thread == nullptr) return EINVAL;
  static_assert(LAPI_NULL_THREAD_ID == ContextLock::kNobody);
  *thread = context->context_lock().owner();
  return 0;
}

int wait(lapi_handle_t handle, lapi_cond_t* place, const timespec* until) {
  Context* context = find_context(handle);
  Condition* condition = condition_of(place);
  if (context == nullptr || condition == nullptr) return EINVAL;
  ContextLock& lock = context->context_lock();
  if (!lock.owned_by_caller()) return EPERM;
  if (context->running() != RunningHandler::none) return EDEADLK;
  const CancellationAtPoints points;
  if (!count_in(*condition, handle)) return EINVAL;
  const Waiting waiting(*context, handle, *condition);
  const LongWait shown({WaitedCall::condition});
  const Woken how = context->lock_conditions().wait(lock, place, until);
  if (!context->is(handle)) [[unlikely]]
    return EINVAL;
  return how == Woken::timed_out ? ETIMEDOUT : 0;
}

int cond_wait(lapi_handle_t handle, lapi_cond_t* condition) { return wait(handle, condition, nullptr); }

int cond_timedwait(lapi_handle_t handle, lapi_cond_t* condition, timespec* timeout) {
  if (timeout == nullptr || timeout->tv_nsec < 0 || timeout->tv_nsec >= kNanosecondsPerSecond) return EINVAL;
  // The kernel does not take a time before 1970.
  const timespec until = timeout->tv_sec >= 0 ? *timeout : timespec{};
  return wait(handle, condition, &until);
}

int cond_signal(lapi_handle_t handle, lapi_cond_t* place) {
  Context* context = find_context(handle);
  if (context == nullptr || condition_of(place) == nullptr) return EINVAL;
  const Call call(*context, handle, CallKind::local);
  if (call.error() != LAPI_SUCCESS) return call.error() == LAPI_ERR_HNDL_INVALID ? EINVAL : call.error();
  context->lock_conditions().signal(place);
  return 0;
}

int cond_init(lapi_handle_t handle, lapi_cond_t* place) {
  if (find_context(handle) == nullptr || place == nullptr) return EINVAL;
  auto* condition = new (place) Condition;
  condition->waiting.store(0, std::memory_order_relaxed);
  condition->mark.store(Condition::kMark, std::memory_order_relaxed);
  return 0;
}

int cond_destroy(lapi_handle_t handle, lapi_cond_t* place) {
  Condition* condition = condition_of(place);
  if (find_context(handle) == nullptr || condition == nullptr) return EINVAL;
  if (static_cast<std::uint32_t>(condition->waiting.load(std::memory_order_relaxed)) != 0) return EBUSY;
  condition->mark.store(0, std::memory_order_relaxed);
  return 0;
}

}  // namespace

void fill_thread_functions(lapi_thread_func_t& functions) {
  functions.mutex_lock = lock;
  functions.mutex_unlock = unlock;
  functions.mutex_trylock = trylock;
  functions.mutex_getowner = getowner;
  functions.cond_wait = cond_wait;
  functions.cond_timedwait = cond_timedwait;
  functions.cond_signal = cond_signal;
  functions.cond_init = cond_init;
  functions.cond_destroy = cond_destroy;
}

}  // namespace openlapi
