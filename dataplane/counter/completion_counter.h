// The user's counters: the first int of a lapi_cntr_t, named by its address.
#pragma once

#include <atomic>
#include <cstdint>

#include "dataplane/base/sanitizer_order.h"

namespace openlapi {

// Adds one. Release: whoever sees the new value also sees the data written before. Address 0 means "no counter".
inline void add_to_counter(std::uint64_t address) {
  if (address == 0) return;
  tell_release(reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address)));
  auto& value = *reinterpret_cast<int*>(static_cast<std::uintptr_t>(address));
  std::atomic_ref<int>(value).fetch_add(1, std::memory_order_release);
}

}  // namespace openlapi
