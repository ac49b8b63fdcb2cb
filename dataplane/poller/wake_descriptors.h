// The poller's own two descriptors: a bell that other threads ring, and an alarm that they can move forward.
#pragma once

#include "dataplane/base/clock.h"

namespace openlapi {

// An eventfd: readable from ring() until silence().
class Bell {
 public:
  Bell();
  ~Bell();
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;

  bool valid() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void ring();
  void silence();

 private:
  int descriptor_;
};

// A timerfd: readable from its time on, until it is set again.
class AlarmTimer {
 public:
  AlarmTimer();
  ~AlarmTimer();
  AlarmTimer(const AlarmTimer&) = delete;
  AlarmTimer& operator=(const AlarmTimer&) = delete;

  bool valid() const { return descriptor_ >= 0; }
  int descriptor() const { return descriptor_; }
  void set_after(Nanoseconds duration);

 private:
  int descriptor_;
};

}  // namespace openlapi
