// What the library's own allocations live on while the heap gives nothing. Progress must not fail for want of memory: a
// packet has been taken, a handler has run, somebody waits. So each allocation that the heap refuses is served from a
// reserve (library_memory.cc), calls that begin something are refused until the heap gives again (memory_is_short()),
// and an engine whose reserve runs low takes in no more packets (Context::progress()), which stay where they are.
//
// One reserve for the process, of memory that was there from the start. Any thread.
#pragma once

#include <atomic>
#include <cstddef>

namespace openlapi {

// Untouched it costs address space only. One step of an engine may copy a burst of packets of 64 KiB.
inline constexpr std::size_t kReserveBytes = std::size_t{6} << 20;
inline constexpr std::size_t kRoomForArrivals = kReserveBytes / 2;

// Null: not so much is left, or the caller has said ReserveClosed.
void* take_from_reserve(std::size_t bytes) noexcept;
// False: it does not come from the reserve.
bool return_to_reserve(void* place) noexcept;
std::size_t reserve_room() noexcept;

extern std::atomic<bool> reserve_in_use;
bool heap_still_refuses() noexcept;

// Whether the heap has refused something and still gives nothing.
[[gnu::always_inline]] inline bool memory_is_short() noexcept {
  return reserve_in_use.load(std::memory_order_relaxed) && heap_still_refuses();
}

// While it lives the calling thread gets nothing from the reserve: what it begins may fail, and is to keep little.
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
