// The part of port_sharing.h that asks DPDK.
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <vector>

#include "nic/dpdk/dpdk_environment.h"
#include "nic/dpdk/port_sharing.h"

namespace openlapi::dpdk {
namespace {

std::string words_of(const rte_flow_error& error, int number) {
  const std::string log = take_log();
  return std::string(rte_strerror(std::abs(number))) + (error.message == nullptr ? "" : ", ") +
         (error.message == nullptr ? "" : error.message) + (log.empty() ? "" : "; DPDK says: " + log);
}

// For what has this VLAN's tag; of none: for what has no tag, and with some drivers (mlx5) any. Null: `error` says why,
// and rte_errno.
rte_flow* make_rule(std::uint16_t port, const FrameEnd& end, std::optional<std::uint16_t> vlan, rte_flow_error& error) {
  rte_flow_item_ipv4 to{}, all_of_address{};
  to.hdr.dst_addr = rte_cpu_to_be_32(end.address);
  all_of_address.hdr.dst_addr = UINT32_MAX;
  rte_flow_item_udp port_number{}, all_of_port{};
  port_number.hdr.dst_port = rte_cpu_to_be_16(end.port);
  all_of_port.hdr.dst_port = UINT16_MAX;
  rte_flow_item_vlan tag{}, all_of_tag{};
  tag.tci = rte_cpu_to_be_16(vlan.value_or(0));
  all_of_tag.tci = rte_cpu_to_be_16(kVlanNumber);
  std::vector<rte_flow_item> pattern = {{RTE_FLOW_ITEM_TYPE_ETH, nullptr, nullptr, nullptr}};
  if (vlan) pattern.push_back({RTE_FLOW_ITEM_TYPE_VLAN, &tag, nullptr, &all_of_tag});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_IPV4, &to, nullptr, &all_of_address});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_UDP, &port_number, nullptr, &all_of_port});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr});
  const rte_flow_action_queue queue{0};
  const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue}, {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  error = {};
  const int result = rte_flow_validate(port, &attributes, pattern.data(), actions, &error);
  if (result == 0) return rte_flow_create(port, &attributes, pattern.data(), actions, &error);
  rte_errno = std::abs(result);
  return nullptr;
}

}  // namespace

bool isolate(std::uint16_t port, bool on, std::string& why) {
  rte_flow_error error{};
  const int result = rte_flow_isolate(port, on ? 1 : 0, &error);
  if (result != 0) why = words_of(error, result);
  return result == 0;
}

bool add_flow_rules(std::uint16_t port, const FrameEnd& end, std::string& why) {
  rte_flow_error error{};
  rte_flow* const untagged = make_rule(port, end, std::nullopt, error);
  if (untagged == nullptr) {
    why = words_of(error, rte_errno);
    return false;
  }
  // A driver whose first rule is for any tag may say that there is one.
  if (end.vlan != 0 && make_rule(port, end, end.vlan, error) == nullptr && rte_errno != EEXIST) {
    why = words_of(error, rte_errno);
    rte_flow_destroy(port, untagged, &error);
    return false;
  }
  make_rule(port, end, 0, error);
  take_log();
  return true;
}

void drop_flow_rules(std::uint16_t port) {
  rte_flow_error error{};
  rte_flow_flush(port, &error);
}

}  // namespace openlapi::dpdk
