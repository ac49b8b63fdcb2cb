#include "api/context/open_error.h"

#include "api/arguments/messages.h"
#include "nic/modules/announced_modules.h"

namespace openlapi {
namespace {

int attention_of(Notice notice) {
  switch (notice) {
    case Notice::path_found:
      return LAPI_ATTENTION_INITIAL_PORT;
    case Notice::alone_on_node:
      return LAPI_ATTENTION_SHM_ONE_TASK;
    case Notice::shared_memory_not_created:
      return LAPI_ATTENTION_SHM_CREATE_FAILED;
    case Notice::shared_memory_not_found:
      return LAPI_ATTENTION_SHM_GET_FAILED;
    case Notice::shared_memory_not_attached:
      return LAPI_ATTENTION_SHM_ATTACH_FAILED;
    case Notice::failover_without_matrix:
      return LAPI_ATTENTION_FAILOVER_NO_NAM;
    case Notice::failover_without_adapters:
      return LAPI_ATTENTION_FAILOVER_INTERNAL;
    case Notice::failover_with_named_adapter:
      return LAPI_ATTENTION_FAILOVER_OTHER_DEVICE;
    case Notice::shared_memory_not_set_up:
      break;
  }
  return LAPI_ATTENTION_SHM_INIT_FAILED;
}

}  // namespace

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
    case FailureKind::neighbour_ended:
      return LAPI_ERR_NO_CONNECTIVITY;
    case FailureKind::neighbours_late:
      return LAPI_ERR_TIMEOUT;
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

void print_notice(Notice notice, int info_level, const std::string& text) {
  print_attention(attention_of(notice), info_level, "%s", text.c_str());
}

lapi_dev_t device_of(std::string_view transport) {
  const ModuleAnnouncement* const module = announced_module(transport);
  if (module == nullptr) return LAPI_DEV_NONE;
  switch (module->kind) {
    case DeviceKind::none:
      break;
    case DeviceKind::rdma:
      return LAPI_DEV_VERBS;
    case DeviceKind::ethernet:
      return LAPI_DEV_DPDK;
  }
  return LAPI_DEV_NONE;
}

}  // namespace openlapi
