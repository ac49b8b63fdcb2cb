#include "api/context/guest_calls.h"

#include <utility>

namespace openlapi {

bool GuestCalls::push(std::unique_ptr<GuestCall> call) {
  const std::scoped_lock mine(turn_);
  if (count_ == kMostCalls) return false;
  ++count_;
  GuestCall* const newest = call.get();
  (first_ == nullptr ? first_ : last_->next) = std::move(call);
  last_ = newest;
  return true;
}

std::unique_ptr<GuestCall> GuestCalls::take_all() {
  const std::scoped_lock mine(turn_);
  count_ = 0;
  last_ = nullptr;
  return std::move(first_);
}

}  // namespace openlapi
