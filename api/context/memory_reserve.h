// Memory for the library's own allocations while the heap is exhausted. Progress must not fail for want of memory: a
// packet was taken, a handler has run, somebody waits. So allocations that the heap refuses are served from a reserve
// (library_memory.cc); calls that would begin something are refused until the heap recovers (memory_is_short()); and an
// engine takes in no more packets while the reserve runs low (Context::progress()): they stay where they are.
//
// One reserve per process, in memory allocated from the start. Any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace openlapi {

// Costs only address space until it is used. One step of an engine may copy a burst of packets of 64 KiB.
inline constexpr std::size_t kReserveBytes = std::size_t{6} << 20;
inline constexpr std::size_t kRoomForArrivals = kReserveBytes / 2;

// Null: not enough is left, or the caller is inside a ReserveClosed.
void* take_from_reserve(std::size_t bytes) noexcept;
// False: the memory is not from the reserve.
bool return_to_reserve(void* place) noexcept;
std::size_t reserve_room() noexcept;

extern std::atomic<bool> reserve_in_use;
bool heap_still_refuses() noexcept;

// Whether the heap has refused an allocation and is still exhausted.
[[gnu::always_inline]] inline bool memory_is_short() noexcept {
  return reserve_in_use.load(std::memory_order_relaxed) && heap_still_refuses();
}

// While it exists the calling thread gets nothing from the reserve: its calls may fail, and should keep little.
class ReserveClosed {
 public:
  ReserveClosed();
  ~ReserveClosed();
  ReserveClosed(const ReserveClosed&) = delete;
  ReserveClosed& operator=(const ReserveClosed&) = delete;

 private:
  const bool before_;
};

}  // namespace openlapi
