// A call to a driver that may take seconds, in a thread of its own, which takes no signals.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace openlapi {

class SlowCall {
 public:
  SlowCall() = default;
  ~SlowCall() { wait(); }
  SlowCall(const SlowCall&) = delete;
  SlowCall& operator=(const SlowCall&) = delete;

  // One at a time; `body` throws nothing. False: there is no thread for it, or no memory, and nothing happens.
  bool begin(std::function<void()> body);
  // It is over, or there was none; what it has done is seen by the caller.
  bool over();
  // The same, after a wait of at most `time`.
  bool over_within(std::chrono::milliseconds time);
  void wait();

 private:
  std::thread thread_;
  std::atomic<bool> done_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
};

}  // namespace openlapi
