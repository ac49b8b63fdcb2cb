// LAPI_Xfer: every transfer as one structure whose first field says which it is. It ends in the same operations as the
// direct calls; what it adds are 64-bit addresses and the handlers of the origin.
#include "api/arguments/refusal.h"
#include "api/calls/operations.h"
#include "api/calls/profiling.h"
#include "api/calls/program_operations.h"
#include "api/calls/vector_operations.h"
#include "api/include/lapi.h"

namespace openlapi {

namespace {

HandlerCall handler_of(scompl_hndlr_t* function, void* info) { return {reinterpret_cast<void*>(function), info}; }
HandlerCall handler_of(compl_hndlr_t* function, void* info) { return {reinterpret_cast<void*>(function), info}; }

int transfer(Context& context, lapi_handle_t handle, const lapi_put_t& put) {
  return begin_put(context, handle,
                   {put.tgt, put.tgt_addr, put.org_addr, put.len, put.tgt_cntr, address_bits(put.org_cntr),
                    address_bits(put.cmpl_cntr), handler_of(put.shdlr, put.sinfo), hint_of(put.flags)});
}

int transfer(Context& context, lapi_handle_t handle, const lapi_get_t& get) {
  return begin_get(context, handle,
                   {get.tgt, get.tgt_addr, get.org_addr, get.len, get.tgt_cntr, address_bits(get.org_cntr),
                    handler_of(get.chndlr, get.cinfo), hint_of(get.flags)});
}

int transfer(Context& context, lapi_handle_t handle, const lapi_am_t& message) {
  return begin_active_message(
      context, handle,
      {message.tgt, message.hdr_hdl, message.uhdr, message.uhdr_len, message.udata, message.udata_len, message.tgt_cntr,
       address_bits(message.org_cntr), address_bits(message.cmpl_cntr), handler_of(message.shdlr, message.sinfo),
       hint_of(message.flags)});
}

// Its counters and handler may hold anything.
int transfer_lightweight(Context& context, lapi_handle_t handle, const lapi_am_t& message) {
  return begin_active_message(
      context, handle,
      {message.tgt, message.hdr_hdl, message.uhdr, message.uhdr_len, message.udata, message.udata_len, 0, 0, 0, {},
       hint_of(message.flags)});
}

// The target's vector is a lapi_lvec_t unless a flag says otherwise.
VectorView view_there(const void* vector, int flags) {
  if ((flags & USE_TGT_VEC_TYPE) != 0) return VectorView(static_cast<const lapi_vec_t*>(vector));
  return VectorView(static_cast<const lapi_lvec_t*>(vector));
}

int transfer(Context& context, lapi_handle_t handle, const lapi_putv_t& put) {
  return begin_put_vector(context, handle, VectorView(put.org_vec), view_there(put.tgt_vec, put.flags),
                          {put.tgt, nullptr, nullptr, put.tgt_cntr, address_bits(put.org_cntr),
                           address_bits(put.cmpl_cntr), handler_of(put.shdlr, put.sinfo)});
}

int transfer(Context& context, lapi_handle_t handle, const lapi_getv_t& get) {
  return begin_get_vector(
      context, handle, VectorView(get.org_vec), view_there(get.tgt_vec, get.flags),
      {get.tgt, nullptr, nullptr, get.tgt_cntr, address_bits(get.org_cntr), handler_of(get.chndlr, get.cinfo)});
}

int transfer(Context& context, lapi_handle_t handle, const lapi_amv_t& message) {
  return begin_vector_message(
      context, handle, VectorView(message.org_vec),
      {message.tgt, message.hdr_hdl, message.uhdr, message.uhdr_len, nullptr, true, message.tgt_cntr,
       address_bits(message.org_cntr), address_bits(message.cmpl_cntr), handler_of(message.shdlr, message.sinfo)});
}

int transfer(Context& context, lapi_handle_t handle, const lapi_rmw_t& rmw) {
  if (context.checks_arguments()) {
    const int error = check_sized_read_modify_write(context.tasks(), rmw);
    if (error != LAPI_SUCCESS) return error;
  }
  RmwRequest request{};
  request.target = rmw.tgt;
  request.target_address = rmw.tgt_var;
  request.previous = rmw.prev_tgt_val;
  request.origin_counter = address_bits(rmw.org_cntr);
  request.send_handler = handler_of(rmw.shdlr, rmw.sinfo);
  if (rmw.size == 32) return begin_read_modify_write<std::uint32_t>(context, handle, rmw.op, rmw.in_val, request);
  return begin_read_modify_write<std::uint64_t>(context, handle, rmw.op, rmw.in_val, request);
}

}  // namespace

}  // namespace openlapi

using namespace openlapi;

int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t* xfer_cmd) {
  Context* context = find_context(hndl);
  if (context == nullptr) return refuse_handle(hndl);
  if (xfer_cmd == nullptr) return refuse_null(LAPI_ERR_XFER_CMD, "xfer_cmd");
  switch (xfer_cmd->Xfer_type) {
    case LAPI_PUT_XFER:
      return transfer(*context, hndl, xfer_cmd->Put);
    case LAPI_GET_XFER:
      return transfer(*context, hndl, xfer_cmd->Get);
    case LAPI_AM_XFER:
      return transfer(*context, hndl, xfer_cmd->Am);
    case LAPI_AM_LW_XFER:
      return transfer_lightweight(*context, hndl, xfer_cmd->Am);
    case LAPI_RMW_XFER:
      return transfer(*context, hndl, xfer_cmd->Rmw);
    case LAPI_PUTV_XFER:
      return transfer(*context, hndl, xfer_cmd->Putv);
    case LAPI_GETV_XFER:
      return transfer(*context, hndl, xfer_cmd->Getv);
    case LAPI_AMV_XFER:
      return transfer(*context, hndl, xfer_cmd->Amv);
    case LAPI_DGSP_XFER:
      return begin_program_message(*context, hndl, xfer_cmd->Dgsp);
    default:
      return refuse(LAPI_ERR_XFER_CMD, "Xfer_type is %d; allowed are %d to %d (lapi_xfer_type_t)",
                    static_cast<int>(xfer_cmd->Xfer_type), LAPI_AM_XFER, LAPI_AM_LW_XFER);
  }
}

OPENLAPI_PROFILED(LAPI_Xfer);
