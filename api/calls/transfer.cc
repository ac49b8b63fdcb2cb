// LAPI_Put, LAPI_Get, LAPI_Rmw, LAPI_Rmw64.
#include "api/arguments/refusal.h"
#include "api/calls/operations.h"
#include "api/calls/profiling.h"
#include "api/include/lapi.h"

namespace openlapi {

namespace {

// `Word` is int or long long.
template <class Word>
int read_modify_write(lapi_handle_t handle, RMW_ops_t operation, uint target, Word* variable, const Word* input,
                      Word* previous, lapi_cntr_t* origin_counter) {
  Context* context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  if (context->checks_arguments()) {
    const int error = check_read_modify_write(context->tasks(), operation, target, address_bits(variable), input);
    if (error != LAPI_SUCCESS) return error;
  }
  RmwRequest request{};
  request.target = target;
  request.target_address = address_bits(variable);
  request.previous = previous;
  request.origin_counter = address_bits(origin_counter);
  return begin_read_modify_write<std::make_unsigned_t<Word>>(*context, handle, operation, input, request);
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_put(*context, hndl,
                   {tgt, address_bits(tgt_addr), org_addr, len, address_bits(tgt_cntr), address_bits(org_cntr),
                    address_bits(cmpl_cntr)});
}

int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return begin_get(*context, hndl,
                   {tgt, address_bits(tgt_addr), org_addr, len, address_bits(tgt_cntr), address_bits(org_cntr)});
}

int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val, int* prev_tgt_val,
              lapi_cntr_t* org_cntr) {
  return read_modify_write(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr);
}

int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long* tgt_var, long long* in_val,
                long long* prev_tgt_val, lapi_cntr_t* org_cntr) {
  return read_modify_write(hndl, op, tgt, tgt_var, in_val, prev_tgt_val, org_cntr);
}

OPENLAPI_PROFILED(LAPI_Put);
OPENLAPI_PROFILED(LAPI_Get);
OPENLAPI_PROFILED(LAPI_Rmw);
OPENLAPI_PROFILED(LAPI_Rmw64);
