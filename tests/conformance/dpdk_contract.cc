// Runs in the beds that have DPDK ports (tests/beds/dpdk-ports): memif, where every two tasks have a pair of ports, and
// af_packet, where one port of each task reaches all through a bridge. Each case has a process of its own: DPDK starts
// once in a process, and does not outlive a fork.
#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "nic/dpdk/dpdk_address.h"
#include "nic/dpdk/dpdk_transport.h"
#include "tests/conformance/transport_contract.h"
#include "tests/support/cases_apart.h"

namespace openlapi::test {
namespace {

std::unique_ptr<Transport> open_dpdk(const DpdkConfig& config, std::string& error) {
  DpdkSetupError failure;
  std::unique_ptr<Transport> transport = open_dpdk_transport(config, failure);
  error = failure.text;
  return transport;
}

// One device for each other task. Two ends in one process must name their socket differently, or the driver takes it
// for the same end. Memory in ordinary pages: there may be no huge ones for six tasks.
DpdkConfig memif(const OpenRequest& request) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci";
  config.address = 0x0a4e0001 + request.self;
  for (const PeerIndex peer : request.tasks) {
    if (peer == request.self) continue;
    const bool server = request.self < peer;
    const std::string pair =
        std::to_string(std::min(peer, request.self)) + "-" + std::to_string(std::max(peer, request.self));
    config.devices.push_back("net_memif" + std::to_string(request.self) + "_" + std::to_string(peer) +
                             ",role=" + (server ? "server" : "client") +
                             ",id=0,socket-abstract=no,socket=" + std::getenv("RUNTIME_DIRECTORY") +
                             (server ? "/" : "/./") + std::to_string(request.cookie) + "-" + pair);
  }
  return config;
}

std::unique_ptr<Transport> open_memif(const OpenRequest& request, std::string& error) {
  return open_dpdk(memif(request), error);
}

std::unique_ptr<Transport> open_memif_jumbo(const OpenRequest& request, std::string& error) {
  DpdkConfig config = memif(request);
  config.mtu = 9000;
  config.held_packets = 256;
  return open_dpdk(config, error);
}

// The shortest packets and rings there are.
std::unique_ptr<Transport> open_memif_small(const OpenRequest& request, std::string& error) {
  DpdkConfig config = memif(request);
  config.mtu = dpdk::kSmallestMtu;
  config.receive_descriptors = 64;
  config.send_descriptors = 64;
  config.held_packets = 64;
  return open_dpdk(config, error);
}

DpdkConfig af_packet(const OpenRequest& request) {
  DpdkConfig config;
  config.eal_arguments = "--no-huge --no-pci";
  config.devices = {"net_af_packet" + std::to_string(request.self) + ",iface=dpdk" + std::to_string(request.self) +
                    ",qdisc_bypass=0"};
  config.address = 0x0a4e0001 + request.self;
  return config;
}

std::unique_ptr<Transport> open_af_packet(const OpenRequest& request, std::string& error) {
  return open_dpdk(af_packet(request), error);
}

std::unique_ptr<Transport> open_af_packet_jumbo(const OpenRequest& request, std::string& error) {
  DpdkConfig config = af_packet(request);
  config.mtu = 9000;
  config.held_packets = 256;
  return open_dpdk(config, error);
}

TransportKind kind(const char* name, decltype(TransportKind::open) open) {
  return {.name = name, .open = open, .tells_death = false};
}

INSTANTIATE_TEST_SUITE_P(Memif, TransportContract,
                         testing::Values(kind("memif", open_memif), kind("memif_jumbo", open_memif_jumbo),
                                         kind("memif_small", open_memif_small)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(AfPacket, TransportContract,
                         testing::Values(kind("af_packet", open_af_packet),
                                         kind("af_packet_jumbo", open_af_packet_jumbo)),
                         kind_name);

}  // namespace
}  // namespace openlapi::test

int main(int count, char** words) {
  const char* const directory = std::getenv("RUNTIME_DIRECTORY");
  if (directory == nullptr || chmod(directory, 0777) != 0) {  // ordinary users' sockets lie there, too
    std::fprintf(stderr, "dpdk_contract_test: start this by dpdk-ports 6 --\n");
    return 1;
  }
  return openlapi::test::run_cases_apart(count, words);
}
