// How operations begin: what LAPI_Put and its like share with LAPI_Xfer once the context is found. Their arguments are
// checked, the engine is asked, and the call waits while there is no room. Return codes.
#pragma once

#include <cstdint>
#include <cstring>

#include "api/arguments/argument_checks.h"
#include "api/context/context.h"
#include "api/context/kept_operation.h"
#include "api/context/memory_reserve.h"
#include "api/context/run_call.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/peers/peer_table.h"

namespace openlapi {

// The engine will take the operation neither now nor later.
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

constexpr WaitedCall waited_call(const PutRequest&) { return WaitedCall::put; }
constexpr WaitedCall waited_call(const LayoutPutRequest&) { return WaitedCall::put_of_pieces; }
constexpr WaitedCall waited_call(const GetRequest&) { return WaitedCall::get; }
constexpr WaitedCall waited_call(const LayoutGetRequest&) { return WaitedCall::get_of_pieces; }
constexpr WaitedCall waited_call(const RmwRequest&) { return WaitedCall::read_modify_write; }
constexpr WaitedCall waited_call(const ActiveMessageRequest&) { return WaitedCall::message; }
constexpr WaitedCall waited_call(const LayoutMessageRequest&) { return WaitedCall::message_of_pieces; }

// Polls until the engine takes the operation. Whichever thread polls calls `start`. If the target is lost meanwhile, so
// is the operation, as is everything that it waited behind.
template <class Start>
[[gnu::noinline]] int submit_when_room(Context& context, WaitedCall call, PeerIndex target, Start& start) {
  const CancellationAtPoints points;
  pthread_testcancel();  // others may begin it so soon that its waits never come to a point
  Endpoint& endpoint = context.endpoint();
  const std::uint32_t incarnation = endpoint.peers().incarnation_of(target);
  Submit result = Submit::busy;
  const auto taken = [&] {
    if (result != Submit::busy) return true;
    const bool lost = endpoint.peers().incarnation_of(target) != incarnation && !endpoint.peers().purged(target);
    result = lost ? Submit::unreachable : start();
    return result != Submit::busy;
  };
  const auto what = [&] { return WaitedFor{call, static_cast<std::int32_t>(target)}; };
  const bool open = context.wait_until(taken, what, Asking::acts);
  if (is_refusal(result)) return refusal_code(result);
  return result == Submit::accepted || open ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
}

// For handlers, which never wait. Another context treats the operation like those of its own handlers if no thread is
// inside it; otherwise it keeps the operation until that thread comes out.
template <auto Begin, class Request>
[[gnu::noinline]] int submit_in_handler(Context& context, lapi_handle_t handle, const Request& request) {
  {
    Call call(context, handle, CallKind::communicates);
    if (call.error() != LAPI_SUCCESS && call.error() != EAGAIN) return call.error();
    if (memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
    if (call.error() == LAPI_SUCCESS) {
      const bool guest = context.running() == RunningHandler::none;
      if (guest && !context.guests().has_room()) return EAGAIN;
      if (guest) context.guests().begin_call();
      const Submit result = (context.endpoint().*Begin)(request);
      if (guest) context.guests().end_call();
      if (result != Submit::accepted) return is_refusal(result) ? refusal_code(result) : EAGAIN;
      if (guest) context.guests().after_calls();
      return LAPI_SUCCESS;
    }
  }
  auto kept = std::make_unique<KeptOperation<Begin, Request>>(handle, request, context.copy_limit());
  return context.guests().leave_call(std::move(kept));
}

// One operation: takes the lock, calls the engine's function that begins it, and does what the call has to do at its
// end.
template <auto Begin, class Request>
inline int submit(Context& context, lapi_handle_t handle, const Request& request) {
  return run_call([&] {
    if (in_handler_inside()) [[unlikely]]
      return submit_in_handler<Begin>(context, handle, request);
    Call call(context, handle, CallKind::communicates);
    if (call.error() != LAPI_SUCCESS) [[unlikely]]
      return call.error();
    if (memory_is_short()) [[unlikely]]
      return LAPI_ERR_MEMORY_EXHAUSTED;
    auto start = [&] { return (context.endpoint().*Begin)(request); };
    const Submit result = start();
    if (result != Submit::accepted) [[unlikely]] {
      if (is_refusal(result)) return refusal_code(result);
      if (const int error = submit_when_room(context, waited_call(request), request.target, start)) return error;
      if (!context.is(handle)) return LAPI_SUCCESS;
    }
    context.after_call();
    return LAPI_SUCCESS;
  });
}

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
