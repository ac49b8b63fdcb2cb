// The verbs transport as a module that the library loads.
#pragma once

#include <string>

#include "dataplane/transport/transport_module.h"
#include "nic/verbs/port_choice.h"
#include "nic/verbs/verbs_ports.h"

namespace openlapi {
struct VerbsConfig;
}

namespace openlapi::verbs {

// Parses DEVICE[:PORT[:GID_INDEX]]; empty: any. False: `reason` says what is wrong.
bool parse_preference(const std::string& text, PortPreference& preference, std::string& reason);

// What a context's transport is to be. False: `reason` says what is wrong with what was asked for.
bool configure(const ModuleRequest& request, VerbsConfig& config, std::string& reason);

// A port that can be used, for the choice among several.
ModuleDevice describe(const PortReport& report);

class VerbsModule final : public TransportModule {
 public:
  std::string_view name() const override { return "verbs"; }
  std::vector<ModuleDevice> devices(const ModuleRequest& request, std::string& reason) override;
  ModuleTransport open(const ModuleRequest& request) override;
  bool has_link(const Transport& transport) override;
  bool network_of(const Transport& transport, ModuleDevice& device) override;
  bool adapter_address(const PeerAddress& address, std::array<std::uint8_t, 16>& found) override;
};

}  // namespace openlapi::verbs
