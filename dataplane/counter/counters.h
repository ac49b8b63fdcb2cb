// The user's counters: moves them, and remembers those that will not be moved because operations were given up. A
// counter is the first int of a lapi_cntr_t, named by its address; 0 means "no counter".
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/base/own_memory.h"
#include "dataplane/base/sanitizer_order.h"
#include "dataplane/counter/lost_counters.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/transport/direct_memory.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

class Counters {
 public:
  explicit Counters(HandlerHost& host) : host_(host) {}

  // Adds one to a counter of this task because of an operation from or to `by`. Release: whoever sees the new value
  // also sees the data written before.
  [[gnu::always_inline]] void move(std::uint64_t counter, PeerIndex by) {
    if (counter == 0) return;
    if (watched_) [[unlikely]]
      host_.counter_moves(counter, by);
    int& value = *reinterpret_cast<int*>(pointer_to(counter));
    tell_release(&value);
    std::atomic_ref<int>(value).fetch_add(1, std::memory_order_release);
  }

  // Peers may move counters of this task by themselves; null: none do. It outlives the counters.
  void share_with(DirectMemory* peers) { peers_ = peers; }

  // Whether the host is told of each move from now on. It would not hear of those that peers make by themselves.
  void watch(bool on) {
    if (on != watched_ && peers_ != nullptr) peers_->leave_counters_to_peers(!on);
    watched_ = on;
  }

  // The counter will not be moved for an operation that was given up.
  void lose(std::uint64_t counter, CounterLoss why) { lost_.add(counter, why); }
  CounterLoss loss_of(std::uint64_t counter) const { return lost_.find(counter); }
  void forget_loss(std::uint64_t counter) { lost_.forget(counter); }

 private:
  HandlerHost& host_;
  DirectMemory* peers_ = nullptr;
  bool watched_ = false;
  LostCounters lost_;
};

}  // namespace openlapi
