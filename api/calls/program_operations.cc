#include "api/calls/program_operations.h"

#include "api/arguments/program_registry.h"
#include "api/arguments/refusal.h"
#include "api/calls/operations.h"
#include "dataplane/layout/program_cursor.h"
#include "dataplane/layout/vector_cursor.h"

namespace openlapi {

namespace {

HandlerCall send_handler(const lapi_amdgsp_t& command) {
  return {reinterpret_cast<void*>(command.shdlr), command.sinfo};
}

// LAPI_ERR_DGSP, and what is wrong with the program.
int check_program(const lapi_amdgsp_t& command) {
  if (ContiguousProgram contiguous; programs().find_contiguous(command.dgsp, command.udata_len, contiguous)) {
    return LAPI_SUCCESS;
  }
  const auto program = programs().find(command.dgsp);
  if (program == nullptr) return refuse_program(command.dgsp);
  return refuse_fault(*program, program->gather_fault(command.udata_len));
}

// LAPI_ERR_DATA_LEN, DGSP, what is wrong with the program, HDR_HNDLR_NULL, TGT, UHDR_LEN, HDR_LEN, UHDR_NULL. `udata`
// may be null: offsets of the program are addresses then.
int check(const Context& context, const lapi_amdgsp_t& command) {
  if (command.udata_len > static_cast<ulong>(LAPI_MAX_MSG_SZ)) {
    return refuse_length("udata_len", command.udata_len, nullptr);
  }
  if (const int error = check_program(command)) return error;
  return check_active_message(context.tasks(), context.max_user_header(),
                              {command.tgt, command.hdr_hdl, command.uhdr, command.uhdr_len, &command, 0});
}

// Whether the data lies in one piece: then the program does not run. Its handle points to what its user said of it.
bool is_contiguous(const lapi_amdgsp_t& command, ContiguousProgram& contiguous) {
  const lapi_dgsp_descr_t& program = *command.dgsp;
  if ((command.flags & BUFFER_BOTH_CONTIGUOUS) == 0 && program.density != LAPI_DGSM_UNIT) {
    return programs().find_contiguous(command.dgsp, command.udata_len, contiguous);
  }
  contiguous = {static_cast<std::uint64_t>(program.lext), static_cast<std::uint32_t>(program.atom_size)};
  return true;
}

int send_layout(Context& context, lapi_handle_t handle, const lapi_amdgsp_t& command, LayoutCursor& source) {
  const LayoutMessageRequest request{command.tgt,
                                     command.hdr_hdl,
                                     command.uhdr,
                                     command.uhdr_len,
                                     &source,
                                     false,
                                     command.tgt_cntr,
                                     address_bits(command.org_cntr),
                                     address_bits(command.cmpl_cntr),
                                     send_handler(command)};
  const int code = submit<&Endpoint::layout_message>(context, handle, request);
  return code == LAPI_ERR_ORG_VEC_ADDR ? LAPI_ERR_DGSP_OTHER : code;  // of a program
}

int send_contiguous(Context& context, lapi_handle_t handle, const lapi_amdgsp_t& command, std::uint64_t place) {
  const ActiveMessageRequest request{command.tgt,
                                     command.hdr_hdl,
                                     command.uhdr,
                                     command.uhdr_len,
                                     reinterpret_cast<const void*>(static_cast<std::uintptr_t>(place)),
                                     command.udata_len,
                                     command.tgt_cntr,
                                     address_bits(command.org_cntr),
                                     address_bits(command.cmpl_cntr),
                                     send_handler(command),
                                     hint_of(command.flags)};
  return submit<&Endpoint::active_message>(context, handle, request);
}

// The engine guards layouts, and no plain messages.
int send_one_piece(Context& context, lapi_handle_t handle, const lapi_amdgsp_t& command,
                   const ContiguousProgram& contiguous) {
  const std::uint64_t place = address_bits(command.udata) + contiguous.offset;
  const bool guards = context.checks_arguments() || programs().any_verified();
  if (contiguous.atom_size == 0 && !guards) return send_contiguous(context, handle, command, place);
  StridedCursor piece(place, command.udata_len, contiguous.atom_size);
  piece.set_guarded(guards);
  return send_layout(context, handle, command, piece);
}

int send_program(Context& context, lapi_handle_t handle, const lapi_amdgsp_t& command) {
  auto program = programs().find(command.dgsp);
  if (program == nullptr) return refuse_program(command.dgsp);
  if (const int error = refuse_fault(*program, program->gather_fault(command.udata_len))) return error;
  ProgramCursor source(std::move(program), address_bits(command.udata), command.udata_len);
  return send_layout(context, handle, command, source);
}

}  // namespace

int begin_program_message(Context& context, lapi_handle_t handle, lapi_amdgsp_t& command) {
  if (command.dgsp == nullptr) return refuse_null(LAPI_ERR_DGSP, "dgsp");
  if (context.checks_arguments()) {
    if (const int error = check(context, command)) return error;
  }
  command.status = LAPI_SUCCESS;
  if (ContiguousProgram contiguous; is_contiguous(command, contiguous)) [[likely]] {
    return send_one_piece(context, handle, command, contiguous);
  }
  return run_call([&] { return send_program(context, handle, command); });
}

}  // namespace openlapi
