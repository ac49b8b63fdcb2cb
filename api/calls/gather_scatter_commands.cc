#include "api/calls/gather_scatter_commands.h"

#include <strings.h>

#include <cstdlib>

#include "api/arguments/program_registry.h"
#include "api/arguments/refusal.h"
#include "api/context/context_resources.h"
#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/layout/program_cursor.h"

namespace openlapi {

namespace {

// Read for every registration: programs may be registered before there is a context. LAPI_Init says what is wrong with
// the variable.
bool verifies() {
  const char* const word = std::getenv("LAPI_VERIFY_DGSP");
  return word != nullptr && strcasecmp(word, "yes") == 0;
}

bool fits(ulong position, ulong bytes, ulong size) { return position <= size && bytes <= size - position; }

std::byte* place_of(const void* buffer, const ContiguousProgram& program) {
  return pointer_to(address_bits(buffer) + program.offset);
}

// The context's function, and whether copies are guarded. An error: the handle is not valid, or the call is refused.
int ask_context(lapi_handle_t handle, ddm_func_t*& function, bool& guards) {
  Context* const context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  Call call(*context, handle, CallKind::local);
  if (call.error() != LAPI_SUCCESS) return call.error();
  function = context->resources().distribution_function;
  guards = context->checks_arguments() || programs().any_verified();
  return LAPI_SUCCESS;
}

// Copies; an error: of memory that the program names and that is not there.
template <class Copy>
int copy_guarded(bool guarded, Copy copy) {
  if (guarded) return survives(copy) ? LAPI_SUCCESS : LAPI_ERR_DGSP_OTHER;
  copy();
  return LAPI_SUCCESS;
}

}  // namespace

int register_program(lapi_reg_dgsp_t& command) {
  return programs().add(command.idgsp, verifies(), command.dgsp_handle);
}

int reserve_program(const lapi_resv_dgsp_t& command) { return programs().reserve(command.dgsp_handle); }

int unreserve_program(const lapi_dref_dgsp_t& command) { return programs().unreserve(command.dgsp_handle); }

int register_distribution_function(lapi_handle_t handle, const lapi_reg_ddm_t& command) {
  Context* const context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  Call call(*context, handle, CallKind::local);
  if (call.error() != LAPI_SUCCESS) return call.error();
  context->resources().distribution_function = command.ddm_func;
  return LAPI_SUCCESS;
}

int pack(lapi_handle_t handle, lapi_pack_dgsp_t& command) {
  const Context* const context = find_context(handle);
  if (context == nullptr) return refuse_handle(handle);
  ContiguousProgram contiguous;
  const bool one_piece = programs().find_contiguous(command.dgsp_handle, command.bytes, contiguous);
  auto program = one_piece ? nullptr : programs().find(command.dgsp_handle);
  if (!one_piece && program == nullptr) return refuse_program(command.dgsp_handle);
  if (command.bytes > 0 && command.out_buf == nullptr) return refuse_null(LAPI_ERR_TGT_ADDR_NULL, "out_buf");
  if (!fits(command.position, command.bytes, command.out_size)) {
    return refuse(LAPI_ERR_PACK_SZ, "position is %lld, bytes %llu; together they may be %llu (out_size)",
                  static_cast<long long>(command.position), static_cast<unsigned long long>(command.bytes),
                  static_cast<unsigned long long>(command.out_size));
  }
  std::byte* const into = static_cast<std::byte*>(command.out_buf) + command.position;
  const bool guards = context->checks_arguments() || programs().any_verified();
  int error = LAPI_SUCCESS;
  if (one_piece) {
    error = copy_guarded(guards, [&] { copy_bytes(into, place_of(command.in_buf, contiguous), command.bytes); });
  } else {
    if (const int fault = refuse_fault(*program, program->gather_fault(command.bytes))) return fault;
    ProgramCursor cursor(std::move(program), address_bits(command.in_buf), command.bytes);
    error = copy_guarded(guards, [&] { cursor.gather(into, command.bytes); });
  }
  if (error == LAPI_SUCCESS) command.position += command.bytes;
  return error;
}

int unpack(lapi_handle_t handle, lapi_unpack_dgsp_t& command) {
  ddm_func_t* function = nullptr;
  bool guards = false;
  if (const int error = ask_context(handle, function, guards)) return error;
  ContiguousProgram contiguous;
  const bool one_piece = programs().find_contiguous(command.dgsp_handle, command.bytes, contiguous);
  auto program = one_piece ? nullptr : programs().find(command.dgsp_handle);
  if (!one_piece && program == nullptr) return refuse_program(command.dgsp_handle);
  if (command.bytes > 0 && command.buf == nullptr) return refuse_null(LAPI_ERR_ORG_ADDR_NULL, "buf");
  if (!fits(command.position, command.bytes, command.in_size) || command.bytes > command.out_size) {
    return refuse(LAPI_ERR_PACK_SZ, "position is %lld, bytes %llu, in_size %llu, out_size %llu; bytes have to fit both",
                  static_cast<long long>(command.position), static_cast<unsigned long long>(command.bytes),
                  static_cast<unsigned long long>(command.in_size), static_cast<unsigned long long>(command.out_size));
  }
  const std::byte* const from = static_cast<const std::byte*>(command.buf) + command.position;
  int error = LAPI_SUCCESS;
  if (one_piece) {
    error = copy_guarded(guards, [&] { copy_bytes(place_of(command.out_buf, contiguous), from, command.bytes); });
  } else {
    if (const int fault = refuse_fault(*program, program->scatter_fault(command.bytes, function != nullptr)))
      return fault;
    ProgramCursor cursor(std::move(program), address_bits(command.out_buf), command.bytes, function);
    error = copy_guarded(guards, [&] { cursor.scatter(from, command.bytes); });
  }
  if (error == LAPI_SUCCESS) command.position += command.bytes;
  return error;
}

}  // namespace openlapi
