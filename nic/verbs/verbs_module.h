// The verbs transport as a module that the library loads.
#pragma once

#include <string>

#include "dataplane/transport/transport_module.h"
#include "nic/verbs/port_choice.h"

namespace openlapi::verbs {

// Parses DEVICE[:PORT[:GID_INDEX]]; empty: any. False: `reason` says what is wrong.
bool parse_preference(const std::string& text, PortPreference& preference, std::string& reason);

class VerbsModule final : public TransportModule {
 public:
  std::string_view name() const override { return "verbs"; }
  bool needs_tags() const override { return false; }  // queue pairs have keys
  std::vector<ModuleDevice> devices(std::string& reason) override;
  ModuleTransport open(const ModuleRequest& request) override;
};

}  // namespace openlapi::verbs
