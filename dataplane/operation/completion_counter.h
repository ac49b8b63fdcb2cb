// The user's counters: the first int of a lapi_cntr_t, named by its address.
#pragma once

#include <atomic>
#include <cstdint>

namespace openlapi {

// Adds one. Release: whoever sees the new value sees the data that was written before. Address 0 is "no counter".
inline void add_to_counter(std::uint64_t address) {
  if (address == 0) return;
  auto& value = *reinterpret_cast<int*>(static_cast<std::uintptr_t>(address));
  std::atomic_ref<int>(value).fetch_add(1, std::memory_order_release);
}

}  // namespace openlapi
