// What handlers of other contexts ask of this one. They hold their own context's lock, so they never wait for this one:
// what they cannot do at once is kept.
#pragma once

#include <cstdint>
#include <memory>

#include "api/context/context_part.h"
#include "api/context/guest_calls.h"
#include "api/include/lapi.h"
#include "api/lock/context_lock.h"

namespace openlapi {

class Guests final : public LockGuests, private ContextPart {
 public:
  using ContextPart::ContextPart;

  // The context was opened.
  void begin() {
    calls_.set_closed(false);
    unbegun_.clear();
  }

  // LockGuests.
  void admit_guests() override;

  // Calls whose targets are still looked for. They go on after each step.
  std::size_t unbegun() const { return unbegun_.size(); }
  void go_on();

  // A call that a guest makes at once, with the lock. Between begin and end the engine accepts what comes.
  bool has_room();
  void begin_call();
  void end_call();
  void after_calls();

  // Without the lock, which another thread holds. Returns a return code; EAGAIN: there is no room.
  int leave_call(std::unique_ptr<GuestCall> call);
  int set_counter(lapi_handle_t handle, lapi_cntr_t* counter, int value);

 private:
  bool run(GuestCall& call);

  GuestCalls calls_;
  UnbegunCalls unbegun_;
  std::uint32_t seen_ = 0;
};

}  // namespace openlapi
