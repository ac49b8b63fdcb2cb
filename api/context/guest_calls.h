// Calls on a context made by a handler of another context while a thread was inside this one. Nobody waits for them:
// whoever holds the lock carries them out, in the order in which they came, before the lock is free again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "api/include/lapi.h"

namespace openlapi {

class Context;

// One such call, with everything that it needs.
struct GuestCall {
  explicit GuestCall(lapi_handle_t meant) : handle(meant) {}
  virtual ~GuestCall() = default;
  virtual void run(Context& context) = 0;

  const lapi_handle_t handle;  // if the context has another handle by then, the call is dropped
  std::unique_ptr<GuestCall> next;
};

class GuestCalls {
 public:
  // Each call keeps the headers and short data of an operation.
  static constexpr std::size_t kMostCalls = 1024;

  // Any thread. False: there is no room, and the call is lost.
  bool push(std::unique_ptr<GuestCall> call);
  // All calls, the first one first, linked by `next`. Null: none.
  std::unique_ptr<GuestCall> take_all();

  // While true nothing more is kept: the context itself has no more room for guests. Any thread.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  void set_closed(bool closed) { closed_.store(closed, std::memory_order_relaxed); }

 private:
  std::mutex turn_;
  std::unique_ptr<GuestCall> first_;
  GuestCall* last_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<bool> closed_{false};
};

}  // namespace openlapi
