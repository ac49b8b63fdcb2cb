// Runs in the soft-RoCE bed (tests/beds/soft-roce), which has the devices rxe0 and rxe1.
#include "nic/verbs/verbs_transport.h"
#include "tests/conformance/transport_contract.h"

namespace openlapi::test {
namespace {

std::unique_ptr<Transport> open_verbs(const VerbsConfig& config, std::string& error) {
  VerbsSetupError failure;
  std::unique_ptr<Transport> transport = open_verbs_transport(config, failure);
  error = failure.text;
  return transport;
}

// Tasks with even numbers are on the first device, the others on the second.
VerbsConfig between_devices(const OpenRequest& request) {
  VerbsConfig config;
  config.port.device = request.self % 2 == 0 ? "rxe0" : "rxe1";
  return config;
}

std::unique_ptr<Transport> open_default(const OpenRequest& request, std::string& error) {
  return open_verbs(between_devices(request), error);
}

std::unique_ptr<Transport> open_one_device(const OpenRequest&, std::string& error) { return open_verbs({}, error); }

std::unique_ptr<Transport> open_ipv6(const OpenRequest& request, std::string& error) {
  VerbsConfig config = between_devices(request);
  config.port.gid_index = 2;
  return open_verbs(config, error);
}

// Through connections from the first packet on that finds one.
std::unique_ptr<Transport> open_connected(const OpenRequest& request, std::string& error) {
  VerbsConfig config = between_devices(request);
  config.connections = true;
  config.connection_limits.packets_before_asking = 1;
  return open_verbs(config, error);
}

// The same, and short packets through rings in memory.
std::unique_ptr<Transport> open_written(const OpenRequest& request, std::string& error) {
  VerbsConfig config = between_devices(request);
  config.connections = true;
  config.connection_limits = {.packets_before_asking = 1, .rings = verbs::Rings::always};
  return open_verbs(config, error);
}

// The shortest packets and rings there are.
std::unique_ptr<Transport> open_small(const OpenRequest& request, std::string& error) {
  VerbsConfig config = between_devices(request);
  config.mtu = 1024;
  config.receive_slots = 64;
  config.send_slots = 64;
  return open_verbs(config, error);
}

// A processor that is emulated is slow.
TransportKind kind(const char* name, decltype(TransportKind::open) open) {
  return {.name = name, .open = open, .tells_death = false, .slowness = 10};
}

INSTANTIATE_TEST_SUITE_P(Verbs, TransportContract,
                         testing::Values(kind("verbs", open_default), kind("verbs_one_device", open_one_device),
                                         kind("verbs_ipv6", open_ipv6), kind("verbs_small", open_small)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Connected, TransportContract, testing::Values(kind("verbs_connected", open_connected)),
                         kind_name);
INSTANTIATE_TEST_SUITE_P(Written, TransportContract, testing::Values(kind("verbs_written", open_written)), kind_name);

}  // namespace
}  // namespace openlapi::test
