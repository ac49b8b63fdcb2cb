// A port of net_tap's with `remote=`, as adapters are that the kernel uses. The driver (DPDK 22.11) takes all that
// comes to `remote` as soon as it is made, and can be told otherwise only when it has queues.
#pragma once

#include <gtest/gtest.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_flow.h>
#include <rte_mbuf.h>

#include <string>

namespace openlapi::test {

// `device`: its name and arguments, as "net_tap0,iface=tap0,remote=eth0".
inline void make_isolated_port(const std::string& device) {
  ASSERT_EQ(rte_dev_probe(device.c_str()), 0);
  std::uint16_t port = 0;
  ASSERT_EQ(rte_eth_dev_get_port_by_name(device.substr(0, device.find(',')).c_str(), &port), 0);
  rte_mempool* pool = rte_mempool_lookup("first");
  if (pool == nullptr) pool = rte_pktmbuf_pool_create("first", 1024, 0, 0, 4096, SOCKET_ID_ANY);
  ASSERT_NE(pool, nullptr);
  const rte_eth_conf plain{};
  ASSERT_EQ(rte_eth_dev_configure(port, 1, 1, &plain), 0);
  ASSERT_EQ(rte_eth_rx_queue_setup(port, 0, 256, SOCKET_ID_ANY, nullptr, pool), 0);
  ASSERT_EQ(rte_eth_tx_queue_setup(port, 0, 256, SOCKET_ID_ANY, nullptr), 0);
  rte_flow_error error{};
  ASSERT_EQ(rte_flow_isolate(port, 1, &error), 0) << (error.message == nullptr ? "" : error.message);
}

}  // namespace openlapi::test
