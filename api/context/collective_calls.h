// The collective calls of a context, one at a time; others wait for their turn. If the thread that has begun one is
// cancelled, the context completes it, because the other tasks count on it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/context/context_part.h"
#include "dataplane/base/task_page.h"
#include "dataplane/endpoint/endpoint.h"

namespace openlapi {

class CollectiveCalls : private ContextPart {
 public:
  using ContextPart::ContextPart;

  // The context is opened.
  void begin();

  // Runs steps(), which begins one of the engine's collectives, awaits it, and says how it ended. `value`: the one to
  // exchange; none: it is a barrier after a fence. Returns a return code.
  template <class Steps>
  int call(std::optional<std::uint64_t> value, Steps steps) {
    return call(
        value, [](void* object) { return (*static_cast<Steps*>(object))(); }, &steps);
  }
  // Returns as soon as it is not pending any more, or the context is being closed.
  CollectiveState await(WaitedCall call);

  // Whether threads have left work behind; tend() does as much of it as is possible now.
  bool left_alone() const { return abandoned_ || !owed_.empty(); }
  void tend();

 private:
  class Turn;

  // A call whose thread was cancelled before its turn.
  struct Owed {
    std::optional<std::uint64_t> value;  // to exchange; none: a barrier
    std::optional<FenceTicket> fence;    // what must be in place first
  };

  int call(std::optional<std::uint64_t> value, CollectiveState (*steps)(void*), void* object);
  bool turn_is_free() const { return !busy_ && owed_.empty(); }
  bool begin_owed();
  void owe(const Owed& owed);
  void abandon();
  void end();

  bool busy_ = false;
  bool abandoned_ = false;  // by a cancelled thread; still running
  unsigned calls_ = 0;      // threads inside them
  std::vector<Owed> owed_;
};

}  // namespace openlapi
