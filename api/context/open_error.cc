#include "api/context/open_error.h"

#include "api/arguments/messages.h"

namespace openlapi {

int code_of(FailureKind kind) {
  switch (kind) {
    case FailureKind::none:
      return LAPI_SUCCESS;
    case FailureKind::setting:
      return LAPI_ERR_SET_VAL;
    case FailureKind::message_interfaces:
      return LAPI_ERR_MSG_API;
    case FailureKind::task_numbers:
      return LAPI_ERR_NO_ENV_VAR;
    case FailureKind::network_statement:
      return LAPI_ERR_NO_NETSTR_SET;
    case FailureKind::two_network_statements:
      return LAPI_ERR_BOTH_NETSTR_SET;
    case FailureKind::transport:
      return LAPI_ERR_CSS_LOAD_FAILED;
    case FailureKind::packet_size:
      return LAPI_ERR_UDP_PKT_SZ;
    case FailureKind::socket:
      return LAPI_ERR_UDP_SOCKET;
    case FailureKind::shared_memory:
      return LAPI_ERR_SHM_SETUP;
    case FailureKind::no_addresses:
      return LAPI_ERR_NO_UDP_HNDLR;
    case FailureKind::address_source:
      return LAPI_ERR_USER_UDP_HNDLR_FAIL;
    case FailureKind::port:
      return LAPI_ERR_UDP_PORT_INFO;
    case FailureKind::exchange:
      break;
  }
  return LAPI_ERR_UNKNOWN;
}

bool fail(OpenError& error, const OpenFailure& failure) { return fail(error, code_of(failure.kind), failure.text); }

int attention_of(ShmFailure failure) {
  switch (failure) {
    case ShmFailure::kCreate:
      return LAPI_ATTENTION_SHM_CREATE_FAILED;
    case ShmFailure::kGet:
    case ShmFailure::kTimeout:
      return LAPI_ATTENTION_SHM_GET_FAILED;
    case ShmFailure::kAttach:
      return LAPI_ATTENTION_SHM_ATTACH_FAILED;
    default:
      return LAPI_ATTENTION_SHM_INIT_FAILED;
  }
}

void print_notice(Notice, int info_level, const std::string& text) {
  print_attention(LAPI_ATTENTION_INITIAL_PORT, info_level, "%s", text.c_str());
}

lapi_dev_t device_of(std::string_view transport) {
  if (transport == "verbs") return LAPI_DEV_VERBS;
  if (transport == "dpdk") return LAPI_DEV_DPDK;
  return LAPI_DEV_NONE;
}

}  // namespace openlapi
