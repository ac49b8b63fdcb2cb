// Who may reach an owner's memory directly, and when the owner has it for itself.
//
// An accessor says that it is busy, and then looks at the generation; the owner changes the generation, and then looks
// who is busy. The barrier between the two steps is paid for by the owner: membarrier(2) in all processes that have
// registered. Where the kernel refuses it, to either side, the accessor has a fence of its own.
//
// shut() waits for nobody: it is for memory that is gone already. An accessor that came before may still store to the
// file, where nobody reads it any more, since the file does not shrink and no part of it is given out twice.
// close() waits: it is for memory that stays in use. Where an accessor that does not leave is not waited for for ever,
// the owner leaves it the bytes of the file, and uses others. tests/models/direct_gate.pml tries all orders.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <vector>

#include "dataplane/base/clock.h"
#include "shm/direct/control_memory.h"

namespace openlapi::direct {

// Whether membarrier(2) works for processes that have registered. Registers this one.
bool can_use_global_barrier();

// The owner's side. Any thread; it takes no lock and does not allocate.
class Gate {
 public:
  // `control` outlives it.
  explicit Gate(const ControlMemory& control);

  // Before the accessor enters for the first time. `process`: its number here; where it has none, it is taken to live.
  void admit(std::uint32_t accessor, pid_t process);

  // What begins from now on does not get in.
  void shut() { control_.header().generation.fetch_add(1); }

  // How long try_close() and close_to() wait for those inside, all together. An operation takes some microseconds, but
  // one that is merely not scheduled may be inside for longer, too: what it stores after that must be lost on purpose.
  static constexpr Nanoseconds kPatience = 100 * kMillisecond;

  // The same, and waits for those inside, except the dead and those that it has been told of (leave_behind()).
  void close();
  // Not for ever. False: some have not left within kPatience, and still use the file.
  [[nodiscard]] bool try_close();
  // Waits for this one only.
  [[nodiscard]] bool close_to(std::uint32_t accessor);

  // While the gate is closed: returns when all but this one have left or are dead.
  void await_others(std::uint32_t accessor) const;

  // While the gate is closed, and nothing of what it was open to is in use any more: if it is inside now it is not
  // waited for again in the same operation.
  void leave_behind(std::uint32_t accessor);

  // Undoes one shut() or close(). With the last one the gate is open, in a new generation.
  void open();

 private:
  class Patience;
  void begin_closing();
  bool has_ended(std::uint32_t accessor) const;
  bool leaves(std::uint32_t accessor, Patience* patience) const;  // null: for ever

  const ControlMemory& control_;
  // By accessor; 0: not known. Who has the number of one that is dead is taken to be it, and to live.
  std::vector<pid_t> processes_;
  // By accessor: the generation of the operation that is not waited for. Accessors enter no generation twice, once the
  // gate has been closed.
  std::vector<std::uint64_t> left_behind_;
};

// The accessor's side: belongs to one thread at a time, and its line to it alone.
class Entrance {
 public:
  // `control` outlives it.
  Entrance(const ControlMemory& control, std::uint32_t accessor);

  // In a signal handler: whether it has interrupted a visit.
  bool is_inside() const { return line_.busy.load(std::memory_order_relaxed) != 0; }

  // Short: the owner waits for its end. Nothing that could fail may happen meanwhile. A signal handler may visit the
  // same entrance in the middle of a visit.
  class Visit {
   public:
    explicit Visit(Entrance& entrance) : line_(entrance.line_), before_(line_.busy.load(std::memory_order_relaxed)) {
      line_.busy.store(kEntering, std::memory_order_relaxed);
      if (entrance.fence_) [[unlikely]] {
        std::atomic_thread_fence(std::memory_order_seq_cst);
      } else {
        std::atomic_signal_fence(std::memory_order_seq_cst);  // Gate::close() has the barrier
      }
      generation_ = entrance.header_.generation.load(std::memory_order_acquire);
      line_.busy.store(generation_, std::memory_order_relaxed);
    }
    ~Visit() { line_.busy.store(before_, std::memory_order_release); }
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;

    std::uint64_t generation() const { return generation_; }

   private:
    AccessorLine& line_;
    const std::uint64_t before_;
    std::uint64_t generation_;
  };

 private:
  ControlHeader& header_;
  AccessorLine& line_;
  const bool fence_;
};

}  // namespace openlapi::direct
