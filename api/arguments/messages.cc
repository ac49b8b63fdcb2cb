#include "api/arguments/messages.h"

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string_view>

#include "api/include/lapi.h"
#include "api/wiring/info_level.h"

namespace openlapi {
namespace {

struct Message {
  int code;
  const char* name;
  const char* text;
};

#define OPENLAPI_MESSAGE(code, text) \
  { code, #code, text }

// By code, ascending.
constexpr Message kMessages[] = {
    OPENLAPI_MESSAGE(LAPI_SUCCESS, "The call was successful."),
    // The one errno value whose own text does not help: most programs meet it by leaving lapi_info_t at zero.
    OPENLAPI_MESSAGE(EPERM, "Not the lock's owner; or the call needs LAST_LIB as lib_vers in LAPI_Init."),
    OPENLAPI_MESSAGE(LAPI_ERR_UNKNOWN, "An internal error; or tasks have libraries of other wire versions."),
    OPENLAPI_MESSAGE(LAPI_ERR_ALL_HNDL_IN_USE,
                     "No LAPI instance is free: the one asked for, or all 16 of this task, are in use."),
    OPENLAPI_MESSAGE(LAPI_ERR_BOTH_NETSTR_SET,
                     "MP_LAPI_NETWORK and MP_LAPI_INET_ADDR are both set; only one of them may be."),
    OPENLAPI_MESSAGE(LAPI_ERR_CSS_LOAD_FAILED,
                     "The transport or adapter that was asked for is not in this build or not here."),
    OPENLAPI_MESSAGE(LAPI_ERR_INFO_NULL, "lapi_info is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_MSG_API, "MP_MSG_API must be lapi, lapi,mpi, mpi,lapi or mpi_lapi."),
    OPENLAPI_MESSAGE(LAPI_ERR_NO_NETSTR_SET,
                     "No network statement is set, or it cannot be used (MP_LAPI_NETWORK, MP_LAPI_INET_ADDR)."),
    OPENLAPI_MESSAGE(LAPI_ERR_NO_UDP_HNDLR,
                     "Nothing says where the tasks are: no launcher, UDP handler or address list."),
    OPENLAPI_MESSAGE(LAPI_ERR_HDR_HNDLR_NULL,
                     "The header handler is NULL, or its index is not registered at the target."),
    OPENLAPI_MESSAGE(LAPI_ERR_PSS_NON_ROOT, "Only root may use the persistent subsystem."),
    OPENLAPI_MESSAGE(LAPI_ERR_SHM_KE_NOT_LOADED, "The kernel extension for shared memory is not loaded."),
    OPENLAPI_MESSAGE(LAPI_ERR_TIMEOUT, "A task has not answered within the time-out."),
    OPENLAPI_MESSAGE(LAPI_ERR_REG_TIMER, "A timer could not be set again."),
    OPENLAPI_MESSAGE(LAPI_ERR_UDP_PKT_SZ, "MP_UDP_PACKET_SIZE must be from 1024 to 65536 bytes."),
    OPENLAPI_MESSAGE(LAPI_ERR_USER_UDP_HNDLR_FAIL, "The user's UDP handler has failed: it did not return 0."),
    OPENLAPI_MESSAGE(LAPI_ERR_HNDL_INVALID,
                     "The handle is not valid: never initialized, or terminated; of LAPI_Init: hndl is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_RET_PTR_NULL, "The pointer for the result is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_ADDR_HNDL_RANGE, "The address index is not from 1 to LOC_ADDRTBL_SZ - 1."),
    OPENLAPI_MESSAGE(LAPI_ERR_ADDR_TBL_NULL, "The address table for the result is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_PURGED, "Messages to the target task have been purged."),
    OPENLAPI_MESSAGE(LAPI_ERR_MULTIPLE_WAITERS, "Another thread waits for the same counter."),
    OPENLAPI_MESSAGE(LAPI_ERR_MEMORY_EXHAUSTED, "There is not enough memory."),
    OPENLAPI_MESSAGE(LAPI_ERR_INFO_NONZERO, "A field of lapi_info_t that must be zero is not."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_ADDR_NULL, "The origin address is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_ADDR_NULL, "The target address is NULL."),
    OPENLAPI_MESSAGE(
        LAPI_ERR_DATA_LEN,
        "The data length is above LAPI_MAX_MSG_SZ (or negative), or reaches beyond the memory at the origin."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT, "The target is not a task of this job."),
    OPENLAPI_MESSAGE(LAPI_ERR_UHDR_NULL, "uhdr is NULL although uhdr_len is not 0."),
    OPENLAPI_MESSAGE(LAPI_ERR_UHDR_LEN, "uhdr_len is above MAX_UHDR_SZ."),
    OPENLAPI_MESSAGE(LAPI_ERR_HDR_LEN, "uhdr_len is not a multiple of 4."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_EXTENT, "The origin vector reaches over more than LAPI_MAX_MSG_SZ bytes."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_STRIDE, "The origin vector's stride is smaller than its block."),
    OPENLAPI_MESSAGE(LAPI_ERR_NO_CONNECTIVITY, "There is no connection to the task."),
    OPENLAPI_MESSAGE(LAPI_ERR_ADAPTERS_DOWN, "No adapter is up."),
    OPENLAPI_MESSAGE(LAPI_ERR_RECV_INCOMP, "A message was not received completely."),
    OPENLAPI_MESSAGE(LAPI_ERR_SEND_INCOMP, "A message was not sent completely."),
    OPENLAPI_MESSAGE(LAPI_ERR_SEND_TIMEOUT, "A message could not be sent within the time-out."),
    OPENLAPI_MESSAGE(LAPI_ERR_SHM_SETUP, "Shared memory could not be set up between the tasks."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_VEC_ADDR,
                     "An address of the origin vector is NULL although its length is not 0, or no memory is there."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_VEC_LEN,
                     "The origin vector has no lengths, or they add up to more than LAPI_MAX_MSG_SZ."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_VEC_NULL, "The origin vector is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_ORG_VEC_TYPE, "The origin vector's type is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL, "The base address of the strided origin vector is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL, "The base address of the strided target vector is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_EXTENT, "The target vector reaches over more than LAPI_MAX_MSG_SZ bytes."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_STRIDE, "The target vector's stride is smaller than its block."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_VEC_ADDR,
                     "An address of the target vector is NULL although its length is not 0, or no memory is there."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_VEC_LEN,
                     "The target vector has no lengths, or they add up to more than LAPI_MAX_MSG_SZ."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_VEC_NULL, "The target vector is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_VEC_TYPE, "The target vector's type is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_VEC_NUM_DIFF, "num_vecs is not the same in the origin vector and the target vector."),
    OPENLAPI_MESSAGE(LAPI_ERR_VEC_TYPE_DIFF, "vec_type is not the same in the origin vector and the target vector."),
    OPENLAPI_MESSAGE(LAPI_ERR_VEC_LEN_DIFF, "Lengths are not the same in the origin vector and the target vector."),
    OPENLAPI_MESSAGE(LAPI_ERR_MSG_INFO_NULL, "The info pointer of LAPI_Msgpoll is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_CNTR_NULL, "The counter is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_CNTR_VAL, "The value to wait for must be greater than 0."),
    OPENLAPI_MESSAGE(LAPI_ERR_QUERY_TYPE, "The attribute is unknown, or cannot be set."),
    OPENLAPI_MESSAGE(LAPI_ERR_IN_VAL_NULL, "in_val of the read-modify-write operation is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_RMW_OP, "The read-modify-write operation is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_VAR_NULL, "tgt_var of the read-modify-write operation is NULL."),
    OPENLAPI_MESSAGE(LAPI_ERR_SET_VAL, "A value is out of the range of its attribute or variable."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP, "The gather/scatter program is NULL or not registered."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_ATOM, "The gather/scatter program's atom_size is not from 0 to MAX_ATOM_SIZE."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_BRANCH, "The gather/scatter program branches out of its code."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_CTL, "The gather/scatter program has a CONTROL instruction where none is allowed."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_COPY_SZ, "The gather/scatter program copies a negative number of bytes."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_FREE, "The gather/scatter program was unreserved more often than it was reserved."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_OPC, "The gather/scatter program has an unknown instruction."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_REPS, "The gather/scatter program has a negative number of repetitions."),
    OPENLAPI_MESSAGE(LAPI_ERR_DGSP_STACK, "The gather/scatter program nests deeper than its depth says."),
    OPENLAPI_MESSAGE(LAPI_ERR_OP_SZ, "The size of the read-modify-write operation must be 32 or 64 bits."),
    OPENLAPI_MESSAGE(LAPI_ERR_UDP_PORT_INFO,
                     "The UDP address information is NULL or not usable (ports are from 1 to 65535)."),
    OPENLAPI_MESSAGE(LAPI_ERR_XFER_CMD, "The command of LAPI_Xfer is NULL, or its Xfer_type is none."),
    OPENLAPI_MESSAGE(
        LAPI_ERR_UTIL_CMD,
        "The command of LAPI_Util is NULL, its Util_type is none, or a launcher has said where tasks are."),
    OPENLAPI_MESSAGE(LAPI_ERR_CATALOG_FAIL, "The message catalog cannot be opened."),
    OPENLAPI_MESSAGE(LAPI_ERR_PACK_SZ, "The buffer for packed data is too small."),
    OPENLAPI_MESSAGE(
        LAPI_ERR_DGSP_OTHER,
        "The gather/scatter program is not valid (its code_size is 0), or names memory that is not there."),
    OPENLAPI_MESSAGE(LAPI_ERR_UDP_SOCKET, "A UDP socket could not be opened, bound or used."),
    OPENLAPI_MESSAGE(LAPI_ERR_COLLECTIVE_PSS, "Collective calls are not allowed in the persistent subsystem."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_INTERNAL,
                     "Failover could not be set up as asked: an internal error, or an adapter that does not open."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_NO_NAM,
                     "There is no network availability matrix: failover goes by probes and link events."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_NO_GROUP_SERVICES,
                     "Failover could not be set up: there are no group services."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_OLD_POE, "Failover could not be set up: the launcher is too old."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_NO_POE, "Failover could not be set up: there is no launcher."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_OTHER_DEVICE,
                     "Failover could not be set up: one adapter was named, not sn_single or sn_all."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_FAILOVER_HALTED, "Failover has stopped: internal error."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_CONTEXT, "The target context is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_SRC_CONTEXT, "The source context is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_BUFHNDL, "The target buffer's handle is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_SRC_BUFHNDL, "The source buffer's handle is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_TGT_OFFSET, "The target offset is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_SRC_OFFSET, "The source offset is not valid."),
    OPENLAPI_MESSAGE(LAPI_ERR_NO_RDMA_RESOURCE, "RDMA resources are exhausted."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_BULK_ENABLED, "Bulk transfer is switched on."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_TIMEOUT, "Tasks have not answered within the time-out."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_VERSION, "LAPI library version."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_INIT_FAILED, "Shared memory could not be initialized."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_RESTART_FAILED,
                     "Shared memory could not be initialized after a restart from a checkpoint."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_ONE_TASK, "Shared memory is not used: there is only one task."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_CREATE_FAILED, "This task could not create its shared memory."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_GET_FAILED, "This task could not get another task's shared memory."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_ATTACH_FAILED, "This task could not attach shared memory."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_SHM_RESERVE_FAILED, "This task could not reserve address space for shared memory."),
    OPENLAPI_MESSAGE(LAPI_ATTENTION_INITIAL_PORT, "First communication over a port."),
    OPENLAPI_MESSAGE(LAPI_ERR_NO_ENV_VAR, "A required environment variable is not set or makes no sense."),
    OPENLAPI_MESSAGE(LAPI_ERR_CODE_UNKNOWN, "The code is unknown to LAPI."),
};

#undef OPENLAPI_MESSAGE

constexpr bool texts_fit() {
  return std::all_of(std::begin(kMessages), std::end(kMessages), [](const Message& message) {
    const std::string_view text = message.text;
    return !text.empty() && text.size() <= kMaxMessageLength;
  });
}
static_assert(texts_fit());

constexpr bool codes_ascend() {
  return std::adjacent_find(std::begin(kMessages), std::end(kMessages), [](const Message& left, const Message& right) {
           return left.code >= right.code;
         }) == std::end(kMessages);
}
static_assert(codes_ascend());

const Message* find_message(int code) {
  const Message* found = std::lower_bound(std::begin(kMessages), std::end(kMessages), code,
                                          [](const Message& message, int wanted) { return message.code < wanted; });
  return found != std::end(kMessages) && found->code == code ? found : nullptr;
}

constexpr std::size_t kMaxAttentionLine = 1000;  // bytes, without the final newline

}  // namespace

// strerrordesc_np() and strerrorname_np() answer 0 too ("Success"); that code is LAPI_SUCCESS, found first.
const char* message_text(int code) {
  const Message* message = find_message(code);
  return message != nullptr ? message->text : strerrordesc_np(code);
}

const char* error_name(int code) {
  const Message* message = find_message(code);
  return message != nullptr ? message->name : strerrorname_np(code);
}

int attention_level(int number) {
  switch (number) {
    case LAPI_ATTENTION_TIMEOUT:
      return kLevelError;
    case LAPI_ATTENTION_FAILOVER_INTERNAL:
    case LAPI_ATTENTION_FAILOVER_NO_GROUP_SERVICES:
    case LAPI_ATTENTION_FAILOVER_OLD_POE:
    case LAPI_ATTENTION_FAILOVER_NO_POE:
    case LAPI_ATTENTION_FAILOVER_OTHER_DEVICE:
    case LAPI_ATTENTION_FAILOVER_HALTED:
    case LAPI_ATTENTION_SHM_INIT_FAILED:
    case LAPI_ATTENTION_SHM_RESTART_FAILED:
    case LAPI_ATTENTION_SHM_CREATE_FAILED:
    case LAPI_ATTENTION_SHM_GET_FAILED:
    case LAPI_ATTENTION_SHM_ATTACH_FAILED:
    case LAPI_ATTENTION_SHM_RESERVE_FAILED:
      return kLevelWarning;
    case LAPI_ATTENTION_FAILOVER_NO_NAM:
    case LAPI_ATTENTION_BULK_ENABLED:
    case LAPI_ATTENTION_VERSION:
    case LAPI_ATTENTION_SHM_ONE_TASK:
    case LAPI_ATTENTION_INITIAL_PORT:
      return kLevelInformation;
    default:
      return -1;
  }
}

void print_attention(int number, int info_level, const char* format, ...) {
  const int level = attention_level(number);
  if (level < 0 || info_level < level) return;

  char line[kMaxAttentionLine + 2];
  constexpr std::size_t kRoom = kMaxAttentionLine + 1;
  int written = std::snprintf(line, kRoom, "ATTENTION: 0031-%03d %s", number, message_text(number));
  std::size_t length = std::min(static_cast<std::size_t>(written), kMaxAttentionLine);
  if (format != nullptr) {
    line[length++] = ' ';
    va_list arguments;
    va_start(arguments, format);
    written = std::vsnprintf(line + length, kRoom - length, format, arguments);
    va_end(arguments);
    if (written > 0) length = std::min(length + static_cast<std::size_t>(written), kMaxAttentionLine);
  }
  line[length++] = '\n';
  std::fwrite(line, 1, length, stderr);
}

}  // namespace openlapi
