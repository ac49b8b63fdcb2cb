// Counters, LAPI_Probe, LAPI_Msgpoll, LAPI_Fence.
#include <atomic>
#include <cerrno>

#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/context/context.h"
#include "api/context/counter_wait.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"
#include "dataplane/base/sanitizer_order.h"

using namespace openlapi;

int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (cntr == nullptr && context->checks_arguments()) return refuse_null(LAPI_ERR_CNTR_NULL, "cntr");
  if (in_handler_inside() && !context->context_lock().owned_by_caller()) [[unlikely]]
    return run_call([&] { return context->guests().set_counter(hndl, cntr, val); });
  tell_release(cntr);
  value_of(cntr).store(val, std::memory_order_seq_cst);
  context->counter_was_set(cntr);
  return LAPI_SUCCESS;
}

int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val) {
  const Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (context->checks_arguments()) {
    if (cntr == nullptr) return refuse_null(LAPI_ERR_CNTR_NULL, "cntr");
    if (val == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "val");
  }
  *val = value_of(cntr).load(std::memory_order_acquire);
  tell_acquire(cntr);
  return LAPI_SUCCESS;
}

int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (cntr == nullptr && context->checks_arguments()) return refuse_null(LAPI_ERR_CNTR_NULL, "cntr");
  if (handler_refuses(CallKind::waits)) [[unlikely]]
    return refuse_in_handler(true);
  pthread_testcancel();
  // Polling mode lives on calls making progress, so there it polls even when the counter is there already.
  if (!context->polling_mode() && subtract_if_reached(cntr, val, cur_cntr_val)) return LAPI_SUCCESS;
  return wait_for_counter(*context, hndl, cntr, val, cur_cntr_val, WaitStyle::polling);
}

int PLAPI_Probe(lapi_handle_t hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return run_cancellable_call([&] {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    context->probe();
    if (context->is(hndl)) context->after_call();
    return LAPI_SUCCESS;
  });
}

int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t* info) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (info == nullptr) return refuse_null(LAPI_ERR_MSG_INFO_NULL, "info");
  return run_cancellable_call([&] {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    return context->poll_messages(cnt, !call.took_lock(), info->status) ? LAPI_SUCCESS : LAPI_ERR_HNDL_INVALID;
  });
}

int PLAPI_Fence(lapi_handle_t hndl) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  return run_cancellable_call([&] {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    return context->fence();
  });
}

OPENLAPI_PROFILED(LAPI_Setcntr);
OPENLAPI_PROFILED(LAPI_Getcntr);
OPENLAPI_PROFILED(LAPI_Waitcntr);
OPENLAPI_PROFILED(LAPI_Probe);
OPENLAPI_PROFILED(LAPI_Msgpoll);
OPENLAPI_PROFILED(LAPI_Fence);
