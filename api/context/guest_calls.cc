#include "api/context/guest_calls.h"

#include <utility>

namespace openlapi {

void GuestCallList::push(std::unique_ptr<GuestCall> call) {
  ++count_;
  GuestCall* const newest = call.get();
  (first_ == nullptr ? first_ : last_->next) = std::move(call);
  last_ = newest;
}

std::unique_ptr<GuestCall> GuestCallList::take_all() {
  count_ = 0;
  last_ = nullptr;
  return std::move(first_);
}

bool GuestCalls::push(std::unique_ptr<GuestCall> call) {
  const std::scoped_lock mine(turn_);
  if (calls_.size() == kMostCalls) return false;
  calls_.push(std::move(call));
  return true;
}

std::unique_ptr<GuestCall> GuestCalls::take_all() {
  const std::scoped_lock mine(turn_);
  return calls_.take_all();
}

bool UnbegunCalls::waits_for(PeerIndex target) const {
  for (const GuestCall* call = calls_.first(); call != nullptr; call = call->next.get()) {
    if (call->target == target) return true;
  }
  return false;
}

}  // namespace openlapi
