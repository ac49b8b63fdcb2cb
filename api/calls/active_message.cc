// LAPI_Amsend, LAPI_Addr_set, LAPI_Addr_get.
#include "api/arguments/refusal.h"
#include "api/calls/operations.h"
#include "api/calls/profiling.h"
#include "api/context/context_resources.h"
#include "api/include/lapi.h"

using namespace openlapi;

namespace {

int refuse_index(int index) {
  return refuse(LAPI_ERR_ADDR_HNDL_RANGE, "addr_hndl is %d; allowed are 1 to %d", index, kAddressTableSize - 1);
}

}  // namespace

int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, void* udata, ulong udata_len,
                 lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_active_message(*context, hndl,
                              {tgt, address_bits(hdr_hdl), uhdr, uhdr_len, udata, udata_len, address_bits(tgt_cntr),
                               address_bits(org_cntr), address_bits(cmpl_cntr)});
}

int PLAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (addr_hndl < 1 || addr_hndl >= kAddressTableSize) return refuse_index(addr_hndl);
  return context->look(hndl, [&] {
    context->resources().address_table[static_cast<unsigned>(addr_hndl)].store(addr, std::memory_order_release);
  });
}

int PLAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (addr_hndl < 1 || addr_hndl >= kAddressTableSize) return refuse_index(addr_hndl);
  if (addr == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "addr");
  return context->look(hndl, [&] {
    *addr = context->resources().address_table[static_cast<unsigned>(addr_hndl)].load(std::memory_order_acquire);
  });
}

OPENLAPI_PROFILED(LAPI_Amsend);
OPENLAPI_PROFILED(LAPI_Addr_set);
OPENLAPI_PROFILED(LAPI_Addr_get);
