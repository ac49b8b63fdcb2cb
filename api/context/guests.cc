// What handlers of other contexts ask of this one. They hold their own context's lock, so they never wait for this one:
// what they cannot do at once is kept (guest_calls.h).
#include <cerrno>
#include <new>
#include <utility>

#include "api/context/context_resources.h"
#include "api/context/counter_wait.h"
#include "dataplane/base/sanitizer_order.h"

namespace openlapi {

namespace {

// Messages that the engine keeps beyond its usual room, because a handler cannot wait until there is some.
constexpr std::size_t kMostNotTaken = 4096;
constexpr std::uint32_t kGuestsBetweenLooks = 64;

class CounterSet final : public GuestCall {
 public:
  CounterSet(lapi_handle_t meant, const lapi_cntr_t* counter) : GuestCall(meant), counter_(counter) {}
  void run(Context& context) override { context.counter_was_set(counter_); }  // the owner calls

 private:
  const lapi_cntr_t* counter_;
};

}  // namespace

// Finding out takes a look at every peer.
bool Context::has_room_for_guests() {
  if (guests_.closed() || ++guests_seen_ % kGuestsBetweenLooks == 0) {
    guests_.set_closed(endpoint_->unfinished().not_taken >= kMostNotTaken || endpoint_->handlers_exhausted());
  }
  return !guests_.closed();
}

void Context::admit_guests() {
  lock_.guests_admitted();
  std::unique_ptr<GuestCall> call = guests_.take_all();
  if (closing_ || poller_ == nullptr) {
    while (call != nullptr) call = std::move(call->next);
    return;
  }
  for (; call != nullptr; call = std::move(call->next)) {
    if (!is(call->handle)) continue;
    begin_guest_call();
    try {
      call->run(*this);
    } catch (const std::bad_alloc&) {
      handlers_.report_fault(Fault::out_of_memory, own_task_);
    }
    end_guest_call();
  }
  has_room_for_guests();
  after_guest_calls();
}

void Context::after_guest_calls() {
  wake_sleepers();
  poller_->after_call();
}

int Context::leave_call(std::unique_ptr<GuestCall> call) {
  const bool kept = !guests_.closed() && guests_.push(std::move(call));
  lock_.announce_guest();  // also without a call: whoever has the lock finds out whether there is room again
  return kept ? LAPI_SUCCESS : EAGAIN;
}

// The value is there at once; whoever waits for it is woken when the guests have been admitted, which is after that.
int Context::set_counter_as_guest(lapi_handle_t handle, lapi_cntr_t* counter, int value) {
  const bool taken = lock_.try_lock();
  const bool possible = taken || guests_.push(std::make_unique<CounterSet>(handle, counter));
  if (possible) {
    tell_release(counter);
    value_of(counter).store(value, std::memory_order_seq_cst);
  }
  if (taken) {
    counter_was_set(counter);
    lock_.unlock();
  } else {
    lock_.announce_guest();
  }
  return possible ? LAPI_SUCCESS : EAGAIN;
}

}  // namespace openlapi
