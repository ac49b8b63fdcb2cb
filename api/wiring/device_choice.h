// Which devices of a user space transport a context opens when the user names none: MP_EUIDEVICE=sn_single or sn_all,
// and MP_INSTANCES (guide, chapter 14, table 12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api/wiring/adapter_choice.h"
#include "api/wiring/adapter_pairs.h"
#include "dataplane/transport/transport_module.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

struct DeviceRequest {
  bool all_networks = false;  // this and the next three: as AdapterRequest has them
  bool first_network = false;
  std::optional<ChosenAdapter> network = {};
  int instances = 1;
  std::uint32_t context = 1;       // its number in its task
  std::uint32_t local_number = 0;  // of the task on its node
};

struct ChosenDevice {
  std::string name;                    // for ModuleRequest; empty: the module knows best
  std::optional<ChosenAdapter> place;  // none: it is not known which device that is
};

struct DeviceChoice {
  std::vector<ChosenDevice> chosen{};
  std::size_t wanted = 0;  // as count_wanted() has it
};

// The kernel's subnet of its address, or of its interface. `adapters`: the kernel's.
ChosenAdapter place_of(const ModuleDevice& device, const std::vector<LocalAdapter>& adapters);

// Of those that are eligible. `adapters`: the kernel's.
std::vector<AdapterCandidate> eligible_candidates(const std::vector<ModuleDevice>& devices,
                                                  const std::vector<LocalAdapter>& adapters);

// Of those that are eligible, as choose_among() has it. Tasks of one node take different ones, unless each device
// serves one context anyway: then the module chooses where one is wanted. It also does where none is eligible.
// `adapters`: the kernel's.
DeviceChoice choose_devices(const std::vector<ModuleDevice>& devices, const std::vector<LocalAdapter>& adapters,
                            const DeviceRequest& request);

}  // namespace openlapi
