#include "api/context/counter_wait.h"

#include <atomic>
#include <cerrno>

#include "api/arguments/refusal.h"
#include "api/context/run_call.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/base/sanitizer_order.h"
#include "dataplane/counter/counters.h"

namespace openlapi {

namespace {

// Acquire: whoever sees the counter sees the data; pairs with the release of whoever counted.
bool reached(lapi_cntr_t* counter, int value) { return value_of(counter).load(std::memory_order_acquire) >= value; }

// One thread in a wait. The context's lock is held at its beginning and end.
class CounterWait {
 public:
  CounterWait(Context& context, const lapi_cntr_t* counter, WaitStyle style)
      : context_(context),
        counter_(counter),
        style_(style),
        purges_(context.recovery().purges()),
        expected_(context.recovery().statuses().awaited(counter)) {
    context_.pin();
    for (const PeerIndex task : expected_) context_.endpoint().expect_from(task);
  }
  ~CounterWait() {
    for (const PeerIndex task : expected_) context_.endpoint().expect_no_more_from(task);
    context_.recovery().counter_waited_for(counter_);
    context_.unpin();
  }
  CounterWait(const CounterWait&) = delete;
  CounterWait& operator=(const CounterWait&) = delete;

  // Why the counter will not move as it should; LAPI_SUCCESS: it may.
  [[gnu::noinline]] int hopeless() const {
    switch (context_.endpoint().counters().loss_of(address_bits(counter_))) {
      case CounterLoss::none:
        break;
      case CounterLoss::peer_lost:
        return LAPI_ERR_NO_CONNECTIVITY;
      case CounterLoss::peer_purged:
        return LAPI_ERR_TGT_PURGED;
      case CounterLoss::refused:
        return EFAULT;
      case CounterLoss::no_memory:
        return LAPI_ERR_MEMORY_EXHAUSTED;
    }
    switch (context_.recovery().statuses().outlook(counter_)) {
      case CounterStatuses::Outlook::unknown:
        return style_ == WaitStyle::patient && purges_ != context_.recovery().purges() ? LAPI_ERR_TGT_PURGED
                                                                                       : LAPI_SUCCESS;
      case CounterStatuses::Outlook::open:
        break;
      case CounterStatuses::Outlook::lost:
        return LAPI_ERR_NO_CONNECTIVITY;
      case CounterStatuses::Outlook::purged:
        return LAPI_ERR_TGT_PURGED;
    }
    return LAPI_SUCCESS;
  }

 private:
  Context& context_;
  const lapi_cntr_t* counter_;
  const WaitStyle style_;
  const std::uint32_t purges_;  // when the wait began
  const std::vector<PeerIndex> expected_;
};

class PatientWait {
 public:
  PatientWait(Context& context, const lapi_cntr_t* counter) : context_(context), counter_(counter) {}
  ~PatientWait() { context_.recovery().end_patient_wait(counter_); }
  PatientWait(const PatientWait&) = delete;
  PatientWait& operator=(const PatientWait&) = delete;

 private:
  Context& context_;
  const lapi_cntr_t* counter_;
};

int wait_under_lock(Context& context, lapi_cntr_t* counter, int value, int* rest, WaitStyle style) {
  const CounterWait wait(context, counter, style);
  const BackoffLimits limits = style == WaitStyle::patient ? kSleepAtOnce : context.poller().usual_wait();
  // Up to here nothing has made the wait hopeless.
  std::uint32_t events =
      context.recovery().nothing_is_lost() ? context.recovery().loss_events() : context.recovery().loss_events() - 1;
  auto over = [&] {
    if (reached(counter, value)) return true;
    if (events == context.recovery().loss_events()) [[likely]]
      return false;
    if (wait.hopeless() != LAPI_SUCCESS) return true;
    events = context.recovery().loss_events();
    return false;
  };
  const auto what = [&] {
    const WaitedCall call = style == WaitStyle::patient ? WaitedCall::nopoll_wait : WaitedCall::wait_for_counter;
    return WaitedFor{call, value_of(counter).load(std::memory_order_relaxed), value};
  };
  for (;;) {
    const bool open = context.wait_until(over, what, limits);
    if (subtract_if_reached(counter, value, rest)) return LAPI_SUCCESS;
    if (!open) return LAPI_ERR_HNDL_INVALID;
    if (const int error = wait.hopeless(); error != LAPI_SUCCESS) {
      context.endpoint().counters().forget_loss(address_bits(counter));
      return error;
    }
  }
}

}  // namespace

bool subtract_if_reached(lapi_cntr_t* counter, int value, int* rest) {
  const std::atomic_ref<int> count = value_of(counter);
  int now = count.load(std::memory_order_acquire);
  do {
    if (now < value) return false;
  } while (value != 0 && !count.compare_exchange_weak(now, now - value, std::memory_order_acq_rel));
  tell_acquire(counter);
  if (rest != nullptr) *rest = now - value;
  return true;
}

int wait_for_counter(Context& context, lapi_handle_t handle, lapi_cntr_t* counter, int value, int* rest,
                     WaitStyle style) {
  return run_waiting_call([&] {
    Call call(context, handle, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    if (style == WaitStyle::polling) {
      if (!reached(counter, value) || !context.may_leave_step() || !subtract_if_reached(counter, value, rest))
        return wait_under_lock(context, counter, value, rest, style);
      context.recovery().counter_waited_for(counter);
      return LAPI_SUCCESS;
    }
    if (!context.recovery().begin_patient_wait(counter)) {
      return refuse(LAPI_ERR_MULTIPLE_WAITERS, "another thread waits for the counter at %p in LAPI_Nopoll_wait",
                    static_cast<void*>(counter));
    }
    const PatientWait mark(context, counter);
    return wait_under_lock(context, counter, value, rest, style);
  });
}

}  // namespace openlapi
