#include "api/arguments/argument_checks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "api/arguments/refusal.h"

namespace openlapi {

namespace {

constexpr std::uint64_t kAsksTheSystem = std::uint64_t{1} << 30;  // bytes; shorter ones do not cost a system call

// Whether the last byte lies where the task has no memory.
bool ends_outside(std::uintptr_t begin, std::uint64_t length) {
  const std::uintptr_t last = begin + static_cast<std::uintptr_t>(length - 1);
  unsigned char ignored = 0;
  const auto unit = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return last < begin || (mincore(reinterpret_cast<void*>(last / unit * unit), 1, &ignored) != 0 && errno == ENOMEM);
}

bool too_long(const void* data, std::uint64_t length) {
  if (length > static_cast<std::uint64_t>(LAPI_MAX_MSG_SZ)) return true;
  return length >= kAsksTheSystem && data != nullptr && ends_outside(reinterpret_cast<std::uintptr_t>(data), length);
}

}  // namespace

// LAPI_ERR_DATA_LEN, (handle), ORG_ADDR_NULL, TGT, TGT_ADDR_NULL.
int check_put_or_get(std::uint32_t tasks, uint target, std::uint64_t length, std::uint64_t target_address,
                     const void* origin_address) {
  if (too_long(origin_address, length)) return refuse_length("len", length, origin_address);
  if (origin_address == nullptr && length != 0) return refuse_null(LAPI_ERR_ORG_ADDR_NULL, "org_addr");
  if (target >= tasks) return refuse_target(target, tasks);
  if (target_address == 0 && length != 0) return refuse_null(LAPI_ERR_TGT_ADDR_NULL, "tgt_addr");
  return LAPI_SUCCESS;
}

// LAPI_ERR_DATA_LEN, HDR_HNDLR_NULL, (handle), ORG_ADDR_NULL, TGT, UHDR_LEN, UHDR_NULL.
int check_active_message(std::uint32_t tasks, std::uint32_t max_user_header, const ActiveMessageArguments& arguments) {
  if (too_long(arguments.data, arguments.length)) return refuse_length("udata_len", arguments.length, arguments.data);
  if (arguments.handler == 0) return refuse_null(LAPI_ERR_HDR_HNDLR_NULL, "hdr_hdl");
  if (arguments.data == nullptr && arguments.length != 0) return refuse_null(LAPI_ERR_ORG_ADDR_NULL, "udata");
  return check_target_and_header(tasks, max_user_header, arguments.target, arguments.user_header,
                                 arguments.user_header_length);
}

int check_target_and_header(std::uint32_t tasks, std::uint32_t max_user_header, uint target, const void* user_header,
                            uint user_header_length) {
  if (target >= tasks) return refuse_target(target, tasks);
  if (user_header_length > max_user_header || user_header_length % 4 != 0) {
    return refuse_user_header(user_header_length, max_user_header);
  }
  if (user_header == nullptr && user_header_length != 0) return refuse_null(LAPI_ERR_UHDR_NULL, "uhdr");
  return LAPI_SUCCESS;
}

// (handle), LAPI_ERR_IN_VAL_NULL, RMW_OP, TGT, TGT_VAR_NULL.
int check_read_modify_write(std::uint32_t tasks, int operation, uint target, std::uint64_t variable,
                            const void* input) {
  if (input == nullptr) return refuse_null(LAPI_ERR_IN_VAL_NULL, "in_val");
  if (operation < COMPARE_AND_SWAP || operation > SWAP) {
    return refuse(LAPI_ERR_RMW_OP, "op is %d; allowed are %d (COMPARE_AND_SWAP) to %d (SWAP)", operation,
                  COMPARE_AND_SWAP, SWAP);
  }
  if (target >= tasks) return refuse_target(target, tasks);
  if (variable == 0) return refuse_null(LAPI_ERR_TGT_VAR_NULL, "tgt_var");
  return LAPI_SUCCESS;
}

// (handle), LAPI_ERR_IN_VAL_NULL, OP_SZ, RMW_OP, TGT, TGT_VAR_NULL.
int check_sized_read_modify_write(std::uint32_t tasks, const lapi_rmw_t& arguments) {
  if (arguments.in_val == nullptr) return refuse_null(LAPI_ERR_IN_VAL_NULL, "in_val");
  if (arguments.size != 32 && arguments.size != 64) {
    return refuse(LAPI_ERR_OP_SZ, "size is %d; allowed are 32 and 64 bits", static_cast<int>(arguments.size));
  }
  return check_read_modify_write(tasks, arguments.op, arguments.tgt, arguments.tgt_var, arguments.in_val);
}

}  // namespace openlapi
