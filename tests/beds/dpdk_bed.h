// Two DPDK transports in one process, over the interfaces dpdk0 and dpdk1 that dpdk-ports makes with --kind af_packet.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "nic/dpdk/dpdk_transport.h"

namespace openlapi::test {

using Clock = std::chrono::steady_clock;

inline std::unique_ptr<DpdkTransport> open_af_packet(PeerIndex self, DpdkConfig config) {
  config.eal_arguments = "--no-huge --no-pci";
  config.devices = {"net_af_packet" + std::to_string(self) + ",iface=dpdk" + std::to_string(self)};
  DpdkSetupError error;
  auto transport = open_dpdk_transport(config, error);
  EXPECT_NE(transport, nullptr) << error.text;
  return transport;
}

inline void ip(const std::string& words) { ASSERT_EQ(std::system(("ip " + words).c_str()), 0) << words; }

inline bool wait_for(const std::function<bool()>& condition) {
  const auto end = Clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (Clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

// How many packets were there.
inline std::size_t take(DpdkTransport& transport) {
  std::array<IncomingPacket, 4> packets{};
  const std::size_t count = transport.receive_burst(packets);
  transport.release(count);
  return count;
}

// Whether a packet from one arrives at the other.
inline bool arrives(DpdkTransport& from, PeerIndex to, DpdkTransport& at) {
  const std::array<std::byte, 8> bytes{};
  const std::array<ConstBuffer, 1> pieces{{{bytes.data(), bytes.size()}}};
  const OutgoingPacket packet{pieces, 8};
  while (take(at) != 0) {
  }
  return wait_for([&] {
    take(from);
    from.send_burst(to, {&packet, 1});
    return take(at) != 0;
  });
}

}  // namespace openlapi::test
