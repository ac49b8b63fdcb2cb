// LAPI_Nopoll_wait, LAPI_Setcntr_wstatus, LAPI_Purge_totask, LAPI_Resume_totask.
#include <atomic>
#include <cerrno>

#include "api/arguments/refusal.h"
#include "api/calls/profiling.h"
#include "api/calls/recovery.h"
#include "api/context/context.h"
#include "api/context/counter_wait.h"
#include "api/context/memory_reserve.h"
#include "api/context/run_call.h"
#include "api/include/lapi.h"

namespace openlapi {

namespace {

// `change` is called with the context, locked, when the task is another one of the job. Nothing is under way to oneself
// that could be given up, so this task is as it was.
template <class Change>
int change_peer(lapi_handle_t handle, uint task, Change change) {
  Context* context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  return run_whole_call([&] {
    Call call(*context, handle, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    if (task >= context->tasks()) return refuse_target(task, context->tasks());
    if (task == context->own_task()) return LAPI_SUCCESS;
    if (memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
    change(*context);
    context->after_call();
    return LAPI_SUCCESS;
  });
}

int refuse_statuses() { return refuse(EPERM, "lib_vers was L1_LIB in LAPI_Init; allowed are L2_LIB and LAST_LIB"); }

}  // namespace

int add_udp_destination(lapi_handle_t handle, const lapi_add_udp_port_t& command) {
  Context* context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  if (command.udp_port == nullptr) return refuse_null(LAPI_ERR_UDP_PORT_INFO, "udp_port");
  Call call(*context, handle, CallKind::local);
  if (call.error() != LAPI_SUCCESS) return call.error();
  if (command.tgt >= context->tasks() || command.tgt == context->own_task()) {
    return refuse(LAPI_ERR_TGT, "tgt is %u; allowed are the other tasks of 0 to %u", command.tgt, context->tasks() - 1);
  }
  return context->recovery().add_udp_port(command.tgt, command.instance_no, *command.udp_port);
}

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t* cntr_ptr, int val, int* cur_cntr_val) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (cntr_ptr == nullptr) return refuse_null(LAPI_ERR_CNTR_NULL, "cntr_ptr");
  if (val <= 0) return refuse(LAPI_ERR_CNTR_VAL, "val is %d; allowed are 1 and more", val);
  if (handler_refuses(CallKind::waits)) return refuse_in_handler(true);
  {
    Call call(*context, hndl, CallKind::waits);
    if (call.error() != LAPI_SUCCESS) return call.error();
    if (!context->recovery().has_counter_statuses()) return refuse_statuses();
  }
  if (memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
  pthread_testcancel();
  return wait_for_counter(*context, hndl, cntr_ptr, val, cur_cntr_val, WaitStyle::patient);
}

int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t* cntr, int num_dest, uint* dest_list, int* dest_status) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (cntr == nullptr) return refuse_null(LAPI_ERR_CNTR_NULL, "cntr");
  if (dest_list != nullptr && dest_status == nullptr) return refuse_null(LAPI_ERR_RET_PTR_NULL, "dest_status");
  return run_call([&] {
    Call call(*context, hndl, CallKind::local);
    if (call.error() != LAPI_SUCCESS) return call.error();
    if (!context->recovery().has_counter_statuses()) return refuse_statuses();
    if (memory_is_short()) return LAPI_ERR_MEMORY_EXHAUSTED;
    const std::size_t destinations = dest_list != nullptr && num_dest > 0 ? static_cast<std::size_t>(num_dest) : 0;
    cntr->num_dest = static_cast<int>(destinations);
    cntr->dest_list = reinterpret_cast<std::uintptr_t>(dest_list);
    cntr->dest_status = reinterpret_cast<std::uintptr_t>(dest_status);
    context->recovery().set_statuses(cntr, {dest_list, destinations}, dest_status);
    std::atomic_ref<int>(cntr->cntr).store(0, std::memory_order_seq_cst);
    return LAPI_SUCCESS;
  });
}

int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest) {
  return change_peer(hndl, dest, [dest](Context& context) { context.recovery().purge(dest); });
}

int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest) {
  return change_peer(hndl, dest, [dest](Context& context) { context.recovery().resume(dest); });
}

OPENLAPI_PROFILED(LAPI_Nopoll_wait);
OPENLAPI_PROFILED(LAPI_Setcntr_wstatus);
OPENLAPI_PROFILED(LAPI_Purge_totask);
OPENLAPI_PROFILED(LAPI_Resume_totask);
