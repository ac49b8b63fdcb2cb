#include "api/context/guests.h"

#include <cerrno>
#include <new>
#include <utility>

#include "api/context/context.h"
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
  bool run(Context& context) override {
    context.counter_was_set(counter_);  // the owner calls
    return true;
  }

 private:
  const lapi_cntr_t* counter_;
};

}  // namespace

// Finding out takes a look at every peer.
bool Guests::has_room() {
  if (calls_.closed() || ++seen_ % kGuestsBetweenLooks == 0) {
    const Endpoint& endpoint = context().endpoint();
    calls_.set_closed(endpoint.unfinished().not_taken + unbegun() >= kMostNotTaken || endpoint.handlers_exhausted());
  }
  return !calls_.closed();
}

void Guests::begin_call() { context().endpoint().enter_handler(); }

void Guests::end_call() { context().endpoint().leave_handler(); }

void Guests::admit_guests() {
  Context& own = context();
  own.context_lock().guests_admitted();
  std::unique_ptr<GuestCall> call = calls_.take_all();
  if (own.closing() || !own.is_open()) {
    while (call != nullptr) call = std::move(call->next);
    return;
  }
  while (call != nullptr) {
    std::unique_ptr<GuestCall> next = std::move(call->next);
    if (own.is(call->handle)) unbegun_.begin(std::move(call), [this](GuestCall& one) { return run(one); });
    call = std::move(next);
  }
  if (unbegun() != 0) own.call_attention();
  has_room();
  after_calls();
}

void Guests::go_on() {
  unbegun_.go_on([this](GuestCall& call) { return run(call); });
}

bool Guests::run(GuestCall& call) {
  Context& own = context();
  bool over = true;
  begin_call();
  try {
    over = call.run(own);
  } catch (const std::bad_alloc&) {
    own.handlers().report_fault(Fault::out_of_memory, own.own_task());
  }
  end_call();
  return over;
}

void Guests::after_calls() {
  context().wake_sleepers();
  context().poller().after_call();
}

int Guests::leave_call(std::unique_ptr<GuestCall> call) {
  const bool kept = !calls_.closed() && calls_.push(std::move(call));
  context()
      .context_lock()
      .announce_guest();  // also without a call: whoever has the lock finds out whether there is room
  return kept ? LAPI_SUCCESS : EAGAIN;
}

// The value is there at once; whoever waits for it is woken when the guests have been admitted, which is after that.
int Guests::set_counter(lapi_handle_t handle, lapi_cntr_t* counter, int value) {
  ContextLock& lock = context().context_lock();
  const bool taken = lock.try_lock();
  const bool possible = taken || calls_.push(std::make_unique<CounterSet>(handle, counter));
  if (possible) {
    tell_release(counter);
    value_of(counter).store(value, std::memory_order_seq_cst);
  }
  if (taken) {
    context().counter_was_set(counter);
    lock.unlock();
  } else {
    lock.announce_guest();
  }
  return possible ? LAPI_SUCCESS : EAGAIN;
}

}  // namespace openlapi
