// How operations begin: what LAPI_Put and its like share with LAPI_Xfer once the context is found. Return codes.
#pragma once

#include <cstring>

#include "api/arguments/argument_checks.h"
#include "api/context/submit.h"

namespace openlapi {

// From LAPI_Xfer's flags; not using bulk takes precedence over using it.
inline BulkHint hint_of(int flags) {
  if ((flags & LAPI_NOT_USE_BULK_XFER) != 0) return BulkHint::never;
  return (flags & LAPI_USE_BULK_XFER) != 0 ? BulkHint::always : BulkHint::by_task;
}

[[gnu::always_inline]] inline int begin_put(Context& context, lapi_handle_t handle, const PutRequest& request) {
  if (context.checks_arguments()) {
    const int error =
        check_put_or_get(context.tasks(), request.target, request.length, request.target_address, request.data);
    if (error != LAPI_SUCCESS) return error;
  }
  return submit<&Endpoint::put>(context, handle, request);
}

[[gnu::always_inline]] inline int begin_get(Context& context, lapi_handle_t handle, const GetRequest& request) {
  if (context.checks_arguments()) {
    const int error =
        check_put_or_get(context.tasks(), request.target, request.length, request.target_address, request.buffer);
    if (error != LAPI_SUCCESS) return error;
  }
  return submit<&Endpoint::get>(context, handle, request);
}

[[gnu::always_inline]] inline int begin_active_message(Context& context, lapi_handle_t handle,
                                                       const ActiveMessageRequest& request) {
  if (context.checks_arguments()) {
    const int error = check_active_message(context.tasks(), context.max_user_header(),
                                           {request.target, request.handler, request.user_header,
                                            request.user_header_length, request.data, request.length});
    if (error != LAPI_SUCCESS) return error;
  }
  return submit<&Endpoint::active_message>(context, handle, request);
}

inline wire::RmwOperation wire_operation(RMW_ops_t operation) {
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

// Fills in the operands, which are copied so that the caller may change them at once, and submits. `Bits`: an unsigned
// type of the variable's size.
template <class Bits>
inline int begin_read_modify_write(Context& context, lapi_handle_t handle, RMW_ops_t operation, const void* operands,
                                   RmwRequest request) {
  Bits input[2] = {};
  std::memcpy(input, operands, operation == COMPARE_AND_SWAP ? sizeof input : sizeof input[0]);
  request.operation = wire_operation(operation);
  request.width = sizeof(Bits);
  request.input = input[0];
  request.swap_value = input[1];
  return submit<&Endpoint::read_modify_write>(context, handle, request);
}

}  // namespace openlapi
