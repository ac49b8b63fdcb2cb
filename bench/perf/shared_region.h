// Memory that the two tasks of a measurement share beside the library: the floors work in it, and the tasks keep step
// through it. A memory file without a name; the second task opens it through /proc, so nothing outlives the tasks.
//
// Both tasks call the same functions in the same order. Numbers only grow, so nothing is ever reset.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace openlapi::bench {

inline constexpr std::size_t kFloorBytes = 1u << 20;  // largest message of the floors that write and read shared memory
inline constexpr std::size_t kRingSlots = 128;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

// Spins; after about 100 us it gives the core away between looks, so that tasks which share one core get on.
template <class Condition, class Relax>
void spin_until(Condition&& condition, Relax&& between) {
  for (unsigned polls = 0; !condition(); ++polls) {
    between();
    if (polls >= 10'000) sched_yield();
  }
}
template <class Condition>
void spin_until(Condition&& condition) {
  spin_until(condition, relax);
}

// A word with a pair of cache lines of its own: processors fetch lines in pairs.
struct alignas(128) SharedWord {
  std::atomic<std::uint64_t> value;
};

struct alignas(64) RingSlot {
  std::atomic<std::uint64_t> sequence;
  std::byte data[56];
};

struct RegionLayout {
  SharedWord flag;           // F: written by both in turn
  SharedWord at_barrier[2];  // by task
  SharedWord agreed;         // written by task 0
  SharedWord posted[2];      // by task: what post() says
  SharedWord step[2];        // by task: which step of a measurement is done
  SharedWord sequence[2];    // by direction: number of the message in bytes[direction]
  SharedWord attach[2];      // by direction: number of the message that is ready, that was copied
  SharedWord sleeper;        // low 32 bits: a futex
  SharedWord woken;          // by task 1: how often it was woken
  SharedWord computed;       // by task 0: how often task 1 was let go on
  SharedWord ring_head;      // by the consumer
  RingSlot ring[kRingSlots];
  alignas(4096) std::byte bytes[2][kFloorBytes];
};

class SharedRegion {
 public:
  SharedRegion() = default;
  ~SharedRegion();
  SharedRegion(const SharedRegion&) = delete;
  SharedRegion& operator=(const SharedRegion&) = delete;

  // Task 0 creates and gives ticket() to task 1, which opens. False: `error` says why.
  bool create(std::string& error);
  std::uint64_t ticket() const;
  bool open(std::uint64_t ticket, std::string& error);
  // Memory of this process that a child of fork() will share (tests).
  void use_inherited(int side) { side_ = side; }

  RegionLayout* operator->() const { return layout_; }
  RegionLayout& layout() const { return *layout_; }
  int side() const { return side_; }
  int other() const { return 1 - side_; }

  // Both tasks are here. `between` is called while waiting.
  template <class Relax>
  void barrier(Relax&& between) {
    const std::uint64_t mine = ++barriers_;
    layout_->at_barrier[side_].value.store(mine, std::memory_order_release);
    spin_until([&] { return layout_->at_barrier[other()].value.load(std::memory_order_acquire) >= mine; }, between);
  }
  void barrier() { barrier(relax); }

  // What task 0 says, in both.
  std::uint64_t agree(std::uint64_t value);
  // Each tells the other a value: returns the other's.
  std::uint64_t exchange(std::uint64_t value);

 private:
  bool map(int descriptor, std::string& error);

  RegionLayout* layout_ = nullptr;
  int descriptor_ = -1;
  int side_ = 0;
  std::uint64_t barriers_ = 0;
};

}  // namespace openlapi::bench
