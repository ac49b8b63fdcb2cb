// A module for tests: UDP over the loopback, for tasks of one machine. Its name is MODULE_NAME; it serves whoever wants
// any device or one of that name. MODULE_NAME_DEVICES lists further ones, addresses of the loopback with spaces between
// them, among which the library may choose: 127.N.X.Y is on network N, or down if X is 1.
#include <arpa/inet.h>

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "dataplane/transport/transport_module.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

ModuleDevice device_at(const std::string& address) {
  const std::uint32_t number = ntohl(inet_addr(address.c_str()));
  ModuleDevice device{.name = address, .state = "of the loopback", .reason = {}};
  if ((number >> 8 & 255) == 1) device.reason = "it is down";
  device.eligible = device.reason.empty();
  device.address = number;
  device.network[0] = static_cast<std::uint8_t>(number >> 16);
  return device;
}

class LoopbackModule final : public TransportModule {
 public:
  std::string_view name() const override { return MODULE_NAME; }

  std::vector<ModuleDevice> devices(const ModuleRequest&, std::string& reason) override {
    reason.clear();
    std::vector<ModuleDevice> all = {{.name = MODULE_NAME, .state = "always up", .reason = {}, .chosen = true},
                                     {.name = "broken", .state = "DOWN", .reason = "it is broken"}};
    const char* const listed = std::getenv(MODULE_NAME "_DEVICES");
    std::istringstream words(listed != nullptr ? listed : "");
    for (std::string word; words >> word;) all.push_back(device_at(word));
    return all;
  }

  bool has_link(const Transport&) override { return true; }

  bool network_of(const Transport& transport, ModuleDevice& device) override {
    const PeerAddress own = transport.local_address();
    in_addr address{};
    std::memcpy(&address, own.bytes.data(), sizeof(address));
    device = device_at(inet_ntoa(address));
    return true;
  }

  bool adapter_address(const PeerAddress&, std::array<std::uint8_t, 16>&) override { return false; }

  ModuleTransport open(const ModuleRequest& request) override {
    ModuleTransport result;
    const bool is_address = request.device.starts_with("127.");
    if (!request.device.empty() && request.device != MODULE_NAME && !is_address) {
      result.reason = "there is no device '" + request.device + "', only " MODULE_NAME;
      return result;
    }
    UdpConfig config;
    config.address.s_addr = is_address ? inet_addr(request.device.c_str()) : htonl(INADDR_LOOPBACK);
    config.packet_size = request.packet_size;
    UdpSetupError error;
    result.transport = open_udp_transport(config, error);
    result.reason = error.text;
    result.device = (is_address ? request.device : MODULE_NAME) + ", task " + std::to_string(request.local_number + 1) +
                    " of " + std::to_string(request.local_tasks);
    return result;
  }
};

TransportModule& the_module() {
  static LoopbackModule module;
  return module;
}

}  // namespace

const TransportModuleEntry openlapi_transport_module = {MODULE_VERSION, the_module};

}  // namespace openlapi
