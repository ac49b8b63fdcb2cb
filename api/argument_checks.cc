#include "api/argument_checks.h"

namespace openlapi {

namespace {

bool too_long(ulong length) { return length > static_cast<ulong>(LAPI_MAX_MSG_SZ); }

}  // namespace

// LAPI_ERR_DATA_LEN, (handle), ORG_ADDR_NULL, TGT, TGT_ADDR_NULL.
int check_put_or_get(std::uint32_t tasks, uint target, ulong length, const void* target_address,
                     const void* origin_address) {
  if (too_long(length)) return LAPI_ERR_DATA_LEN;
  if (origin_address == nullptr && length != 0) return LAPI_ERR_ORG_ADDR_NULL;
  if (target >= tasks) return LAPI_ERR_TGT;
  if (target_address == nullptr && length != 0) return LAPI_ERR_TGT_ADDR_NULL;
  return LAPI_SUCCESS;
}

// LAPI_ERR_DATA_LEN, HDR_HNDLR_NULL, (handle), ORG_ADDR_NULL, TGT, UHDR_LEN, UHDR_NULL.
int check_active_message(std::uint32_t tasks, std::uint32_t max_user_header, const ActiveMessageArguments& arguments) {
  if (too_long(arguments.length)) return LAPI_ERR_DATA_LEN;
  if (arguments.handler == nullptr) return LAPI_ERR_HDR_HNDLR_NULL;
  if (arguments.data == nullptr && arguments.length != 0) return LAPI_ERR_ORG_ADDR_NULL;
  if (arguments.target >= tasks) return LAPI_ERR_TGT;
  if (arguments.user_header_length > max_user_header) return LAPI_ERR_UHDR_LEN;
  if (arguments.user_header_length % 4 != 0) return LAPI_ERR_HDR_LEN;
  if (arguments.user_header == nullptr && arguments.user_header_length != 0) return LAPI_ERR_UHDR_NULL;
  return LAPI_SUCCESS;
}

// (handle), LAPI_ERR_IN_VAL_NULL, RMW_OP, TGT, TGT_VAR_NULL.
int check_read_modify_write(std::uint32_t tasks, int operation, uint target, const void* variable, const void* input) {
  if (input == nullptr) return LAPI_ERR_IN_VAL_NULL;
  if (operation < COMPARE_AND_SWAP || operation > SWAP) return LAPI_ERR_RMW_OP;
  if (target >= tasks) return LAPI_ERR_TGT;
  if (variable == nullptr) return LAPI_ERR_TGT_VAR_NULL;
  return LAPI_SUCCESS;
}

}  // namespace openlapi
