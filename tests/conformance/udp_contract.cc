#include <arpa/inet.h>

#include "nic/udp/udp_transport.h"
#include "tests/conformance/traced.h"
#include "tests/conformance/transport_contract.h"
#include "tests/support/faulty_transport.h"

namespace openlapi::test {
namespace {

std::unique_ptr<Transport> open_udp(UdpConfig config, std::string& error) {
  config.address.s_addr = htonl(INADDR_LOOPBACK);
  UdpSetupError failure;
  std::unique_ptr<Transport> transport = open_udp_transport(config, failure);
  error = failure.text;
  return transport;
}

std::unique_ptr<Transport> open_default(const OpenRequest&, std::string& error) { return open_udp({}, error); }

std::unique_ptr<Transport> open_plain(const OpenRequest&, std::string& error) {
  UdpConfig config;
  config.offload = false;
  return open_udp(config, error);
}

// As on an Ethernet: datagrams of 1472 bytes, offloaded in runs.
std::unique_ptr<Transport> open_small(const OpenRequest&, std::string& error) {
  UdpConfig config;
  config.packet_size = 1472;
  return open_udp(config, error);
}

std::unique_ptr<Transport> open_longest(const OpenRequest&, std::string& error) {
  UdpConfig config;
  config.packet_size = 65536;
  return open_udp(config, error);
}

// The decorator itself keeps the contract as long as it is given no faults.
std::unique_ptr<Transport> open_decorated(const OpenRequest& request, std::string& error) {
  std::unique_ptr<Transport> inner = open_default(request, error);
  return inner ? std::make_unique<FaultyTransport>(std::move(inner), FaultPlan{}, request.self) : nullptr;
}

INSTANTIATE_TEST_SUITE_P(
    Udp, TransportContract,
    testing::Values(TransportKind{.name = "udp", .open = open_default, .tells_death = false},
                    TransportKind{.name = "udp_plain", .open = open_plain, .tells_death = false},
                    TransportKind{.name = "udp_small", .open = open_small, .tells_death = false},
                    TransportKind{.name = "udp_longest", .open = open_longest, .tells_death = false},
                    TransportKind{.name = "udp_traced", .open = open_traced<open_default>, .tells_death = false},
                    TransportKind{.name = "udp_decorated", .open = open_decorated, .tells_death = false}),
    kind_name);

}  // namespace
}  // namespace openlapi::test
