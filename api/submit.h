// Handing an operation to the engine, and waiting inside the call when it has no room.
#pragma once

#include <cstdint>

#include "api/context.h"
#include "api/guarded.h"
#include "api/memory_reserve.h"

namespace openlapi {

inline std::uint64_t address_bits(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }

// What the engine answers when it takes the operation neither now nor later.
inline bool is_refusal(Submit result) { return result != Submit::accepted && result != Submit::busy; }

inline int refusal_code(Submit refusal) {
  switch (refusal) {
    case Submit::purged:
      return LAPI_ERR_TGT_PURGED;
    case Submit::origin_memory:
      return LAPI_ERR_ORG_VEC_ADDR;
    case Submit::target_memory:
      return LAPI_ERR_TGT_VEC_ADDR;
    default:
      return LAPI_ERR_NO_CONNECTIVITY;
  }
}

// Polls until the engine takes the operation. `start` is tried by whichever thread polls.
template <class Start>
[[gnu::noinline]] int submit_when_room(Context& context, Start& start) {
  if (context.running() != RunningHandler::none) return EDEADLK;  // the engine keeps room for handlers: not reached
  Submit result = Submit::busy;
  const bool open = context.wait_until([&] {
    if (result == Submit::busy) result = start();
    return result != Submit::busy;
  });
  if (is_refusal(result)) return refusal_code(result);
  return result == Submit::accepted || open ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
}

// One operation: the call's lock, the engine, and what the call leaves behind. `make` is called with the engine.
template <class Make>
inline int submit(Context& context, lapi_handle_t handle, Make make) noexcept {
  return guarded([&] {
    Call call(context, handle, CallKind::communicates);
    if (call.error() != LAPI_SUCCESS) [[unlikely]]
      return call.error();
    if (memory_is_short()) [[unlikely]]
      return LAPI_ERR_MEMORY_EXHAUSTED;
    auto start = [&] { return make(context.endpoint()); };
    const Submit result = start();
    if (result != Submit::accepted) [[unlikely]] {
      if (is_refusal(result)) return refusal_code(result);
      if (const int error = submit_when_room(context, start)) return error;
      if (!context.is(handle)) return LAPI_SUCCESS;
    }
    if (!call.in_handler()) context.after_call();
    return LAPI_SUCCESS;
  });
}

}  // namespace openlapi
