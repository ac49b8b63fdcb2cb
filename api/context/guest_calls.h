// Calls on a context made by a handler of another context while a thread was inside this one. Nobody waits for them:
// whoever holds the lock carries them out, in the order in which they came, before the lock is free again.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>

#include "api/include/lapi.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

class Context;

// One such call, with everything that it needs.
struct GuestCall {
  explicit GuestCall(lapi_handle_t meant, PeerIndex sent_to = kUnknownPeer) : handle(meant), target(sent_to) {}
  virtual ~GuestCall() = default;
  // False: its target is still looked for, and nothing has changed; it has to come again.
  virtual bool run(Context& context) = 0;

  const lapi_handle_t handle;  // if the context has another handle by then, the call is dropped
  const PeerIndex target;      // kUnknownPeer: it sends nothing, and is never told to come again
  std::unique_ptr<GuestCall> next;
};

// In the order in which they came. To keep one more takes no memory.
class GuestCallList {
 public:
  std::size_t size() const { return count_; }
  const GuestCall* first() const { return first_.get(); }
  void push(std::unique_ptr<GuestCall> call);
  // The first one, with the others linked to it by `next`. Null: none.
  std::unique_ptr<GuestCall> take_all();

 private:
  std::unique_ptr<GuestCall> first_;
  GuestCall* last_ = nullptr;
  std::size_t count_ = 0;
};

class GuestCalls {
 public:
  // Each call keeps the headers and short data of an operation.
  static constexpr std::size_t kMostCalls = 1024;

  // Any thread. False: there is no room, and the call is lost.
  bool push(std::unique_ptr<GuestCall> call);
  // As GuestCallList::take_all().
  std::unique_ptr<GuestCall> take_all();

  // While true nothing more is kept: the context itself has no more room for guests. Any thread.
  bool closed() const { return closed_.load(std::memory_order_relaxed); }
  void set_closed(bool closed) { closed_.store(closed, std::memory_order_relaxed); }

 private:
  std::mutex turn_;
  GuestCallList calls_;
  std::atomic<bool> closed_{false};
};

// Calls that were taken while their targets were still looked for. With the context's lock.
class UnbegunCalls {
 public:
  std::size_t size() const { return calls_.size(); }
  void clear() { calls_.take_all(); }

  // `run(call)`: as GuestCall::run(). Behind an earlier one to the same target the call waits.
  template <class Run>
  void begin(std::unique_ptr<GuestCall> call, const Run& run) {
    if (waits_for(call->target) || !run(*call)) calls_.push(std::move(call));
  }

  // Those that can begin now.
  template <class Run>
  void go_on(const Run& run) {
    for (std::unique_ptr<GuestCall> call = calls_.take_all(); call != nullptr;) {
      std::unique_ptr<GuestCall> next = std::move(call->next);
      begin(std::move(call), run);
      call = std::move(next);
    }
  }

 private:
  bool waits_for(PeerIndex target) const;

  GuestCallList calls_;
};

}  // namespace openlapi
