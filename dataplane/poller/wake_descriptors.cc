#include "dataplane/poller/wake_descriptors.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstdint>

#include "dataplane/base/cancellation.h"

namespace openlapi {

Bell::Bell() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Bell::~Bell() {
  if (descriptor_ >= 0) close(descriptor_);
}

void Bell::ring() {
  const CancellationOff off;
  // Fails only when it has been rung 2^64 times: it rings already then.
  [[maybe_unused]] const int result = eventfd_write(descriptor_, 1);
}

void Bell::silence() {
  const CancellationOff off;
  eventfd_t count = 0;
  [[maybe_unused]] const int result = eventfd_read(descriptor_, &count);
}

AlarmTimer::AlarmTimer() : descriptor_(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {}

AlarmTimer::~AlarmTimer() {
  if (descriptor_ >= 0) close(descriptor_);
}

void AlarmTimer::set_after(Nanoseconds duration) {
  if (duration == 0) duration = 1;  // 0 would switch it off
  itimerspec moment{};
  moment.it_value.tv_sec = static_cast<time_t>(duration / kSecond);
  moment.it_value.tv_nsec = static_cast<long>(duration % kSecond);
  timerfd_settime(descriptor_, 0, &moment, nullptr);
}

}  // namespace openlapi
