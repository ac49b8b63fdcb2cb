// LAPI_Address, LAPI_Address_init, LAPI_Address_init64, LAPI_Gfence.
#include <optional>

#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/context/context.h"
#include "api/context/memory_reserve.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"
#include "dataplane/sync/collectives.h"

namespace openlapi {

namespace {

// No task comes back before the tables of all are filled: a task that is ahead may send messages at once, whose
// handlers use the table of a task that is still inside, on its dataplane thread.
template <class Store>
int exchange_addresses(lapi_handle_t handle, std::uint64_t own, const void* table, Store store) {
  Context* context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  if (table == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "add_tab");
  return run_waiting_call([&] {
    Call call(*context, handle, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    if (memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
    return context->collectives().call(own, [&] {
      Endpoint& endpoint = context->endpoint();
      endpoint.collectives().begin_exchange(own);
      const CollectiveState state = context->collectives().await(WaitedCall::address_init);
      if (state != CollectiveState::filled) return state;
      std::size_t task = 0;
      for (const std::uint64_t value : endpoint.collectives().exchanged()) store(task++, value);
      endpoint.collectives().confirm_exchange();
      return context->collectives().await(WaitedCall::address_init);
    });
  });
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Address(void* my_addr, ulong* ret_addr) {
  if (my_addr == nullptr) return refuse_null(LAPI_ERR_ORG_ADDR_NULL, "my_addr");
  if (ret_addr == nullptr) return refuse_null(LAPI_ERR_TGT_ADDR_NULL, "ret_addr");
  *ret_addr = reinterpret_cast<ulong>(my_addr);
  return LAPI_SUCCESS;
}

int PLAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]) {
  return exchange_addresses(hndl, reinterpret_cast<std::uintptr_t>(my_addr), add_tab,
                            [add_tab](std::size_t task, std::uint64_t value) {
                              add_tab[task] = reinterpret_cast<void*>(static_cast<std::uintptr_t>(value));
                            });
}

int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab) {
  return exchange_addresses(hndl, my_addr, add_tab,
                            [add_tab](std::size_t task, std::uint64_t value) { add_tab[task] = value; });
}

int PLAPI_Gfence(lapi_handle_t hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return run_waiting_call([&] {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    return context->collectives().call(std::nullopt, [&] {
      context->endpoint().collectives().begin_barrier();
      return context->collectives().await(WaitedCall::global_fence);
    });
  });
}

OPENLAPI_PROFILED(LAPI_Address);
OPENLAPI_PROFILED(LAPI_Address_init);
OPENLAPI_PROFILED(LAPI_Address_init64);
OPENLAPI_PROFILED(LAPI_Gfence);
