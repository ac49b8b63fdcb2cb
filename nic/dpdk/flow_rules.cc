// The part of port_sharing.h that asks DPDK.
#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_flow.h>

#include <cstdlib>
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

}  // namespace

bool isolate(std::uint16_t port, bool on, std::string& why) {
  rte_flow_error error{};
  const int result = rte_flow_isolate(port, on ? 1 : 0, &error);
  if (result != 0) why = words_of(error, result);
  return result == 0;
}

bool add_flow_rule(std::uint16_t port, const FrameEnd& end, std::string& why) {
  rte_flow_item_ipv4 to{}, all_of_address{};
  to.hdr.dst_addr = rte_cpu_to_be_32(end.address);
  all_of_address.hdr.dst_addr = UINT32_MAX;
  rte_flow_item_udp port_number{}, all_of_port{};
  port_number.hdr.dst_port = rte_cpu_to_be_16(end.port);
  all_of_port.hdr.dst_port = UINT16_MAX;
  rte_flow_item_vlan vlan{}, all_of_vlan{};
  vlan.tci = rte_cpu_to_be_16(end.vlan);
  all_of_vlan.tci = rte_cpu_to_be_16(kVlanNumber);
  std::vector<rte_flow_item> pattern = {{RTE_FLOW_ITEM_TYPE_ETH, nullptr, nullptr, nullptr}};
  if (end.vlan != 0) pattern.push_back({RTE_FLOW_ITEM_TYPE_VLAN, &vlan, nullptr, &all_of_vlan});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_IPV4, &to, nullptr, &all_of_address});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_UDP, &port_number, nullptr, &all_of_port});
  pattern.push_back({RTE_FLOW_ITEM_TYPE_END, nullptr, nullptr, nullptr});
  const rte_flow_action_queue queue{0};
  const rte_flow_action actions[] = {{RTE_FLOW_ACTION_TYPE_QUEUE, &queue}, {RTE_FLOW_ACTION_TYPE_END, nullptr}};
  rte_flow_attr attributes{};
  attributes.ingress = 1;
  rte_flow_error error{};
  int result = rte_flow_validate(port, &attributes, pattern.data(), actions, &error);
  if (result == 0 && rte_flow_create(port, &attributes, pattern.data(), actions, &error) == nullptr) result = rte_errno;
  if (result != 0) why = words_of(error, result);
  return result == 0;
}

}  // namespace openlapi::dpdk
