// LAPI_Put, LAPI_Get, LAPI_Rmw, LAPI_Rmw64.
#include <cstring>

#include "api/argument_checks.h"
#include "api/lapi.h"
#include "api/profiling.h"
#include "api/submit.h"

namespace openlapi {

namespace {

wire::RmwOperation wire_operation(RMW_ops_t operation) {
  switch (operation) {
    case FETCH_AND_ADD:
      return wire::RmwOperation::fetch_and_add;
    case FETCH_AND_OR:
      return wire::RmwOperation::fetch_and_or;
    case SWAP:
      return wire::RmwOperation::swap;
    case COMPARE_AND_SWAP:
      break;
  }
  return wire::RmwOperation::compare_and_swap;
}

// `Word` is int or long long; the operands are copied here, so the caller may change them at once.
template <class Word>
int read_modify_write(lapi_handle_t handle, RMW_ops_t operation, uint target, Word* variable, const Word* input,
                      Word* previous, lapi_cntr_t* origin_counter) {
  using Bits = std::make_unsigned_t<Word>;
  Context* context = find_context(handle);
  if (context == nullptr) return LAPI_ERR_HNDL_INVALID;
  if (context->checks_arguments()) {
    const int error = check_read_modify_write(context->tasks(), operation, target, variable, input);
    if (error != LAPI_SUCCESS) return error;
  }
  RmwRequest request{};
  request.target = target;
  request.operation = wire_operation(operation);
  request.width = sizeof(Word);
  request.target_address = address_bits(variable);
  request.input = static_cast<Bits>(input[0]);
  request.swap_value = operation == COMPARE_AND_SWAP ? static_cast<Bits>(input[1]) : 0;
  request.previous = previous;
  request.origin_counter = address_bits(origin_counter);
  return submit(*context, handle, [&](Endpoint& endpoint) { return endpoint.read_modify_write(request); });
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return LAPI_ERR_HNDL_INVALID;
  if (context->checks_arguments()) {
    const int error = check_put_or_get(context->tasks(), tgt, len, tgt_addr, org_addr);
    if (error != LAPI_SUCCESS) return error;
  }
  const PutRequest request{tgt, address_bits(tgt_addr), org_addr, len, address_bits(tgt_cntr), address_bits(org_cntr),
                           address_bits(cmpl_cntr)};
  return submit(*context, hndl, [&](Endpoint& endpoint) { return endpoint.put(request); });
}

int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
              lapi_cntr_t* org_cntr) {
  Context* context = find_context(hndl);
  if (context == nullptr) return LAPI_ERR_HNDL_INVALID;
  if (context->checks_arguments()) {
    const int error = check_put_or_get(context->tasks(), tgt, len, tgt_addr, org_addr);
    if (error != LAPI_SUCCESS) return error;
  }
  const GetRequest request{tgt, address_bits(tgt_addr), org_addr, len, address_bits(tgt_cntr), address_bits(org_cntr)};
  return submit(*context, hndl, [&](Endpoint& endpoint) { return endpoint.get(request); });
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
