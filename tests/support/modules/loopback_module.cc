// A module for tests: UDP over the loopback, for tasks of one machine. Its name is MODULE_NAME; it serves whoever wants
// any device or one of that name.
#include "dataplane/transport/transport_module.h"
#include "nic/udp/udp_transport.h"

namespace openlapi {
namespace {

class LoopbackModule final : public TransportModule {
 public:
  std::string_view name() const override { return MODULE_NAME; }

  bool needs_tags() const override { return false; }

  std::vector<ModuleDevice> devices(std::string& reason) override {
    reason.clear();
    return {{MODULE_NAME, "always up", {}, true}, {"broken", "DOWN", "it is broken", false}};
  }

  ModuleTransport open(const ModuleRequest& request) override {
    ModuleTransport result;
    if (!request.device.empty() && request.device != MODULE_NAME) {
      result.reason = "there is no device '" + request.device + "', only " MODULE_NAME;
      return result;
    }
    UdpConfig config;
    config.address.s_addr = htonl(INADDR_LOOPBACK);
    config.packet_size = request.packet_size;
    UdpSetupError error;
    result.transport = open_udp_transport(config, error);
    result.reason = error.text;
    result.device =
        MODULE_NAME ", task " + std::to_string(request.local_number + 1) + " of " + std::to_string(request.local_tasks);
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
