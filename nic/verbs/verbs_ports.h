// The RDMA ports of this machine, queried through libibverbs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nic/verbs/port_choice.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// All ports of all devices, or of the device named `device`. Opens each device briefly (milliseconds). A device that
// cannot be opened is one entry with a problem. Empty: there is no device at all, and `reason` says so.
std::vector<PortFacts> find_ports(const std::string& device, std::string& reason);

// Null: `reason` says why, and errno has the error.
DeviceContext open_device(const std::string& name, std::string& reason);

// For people: a port, and how a transport would use it.
struct PortReport {
  PortFacts facts;
  std::optional<GidFacts> gid;  // the one that would be used
  PartitionFacts partition;     // the same
  std::string reason;           // why the port cannot be used; empty: it can
  bool chosen = false;          // what is used when the user names none
};

// In the order of the rule (port_choice.h), with this preference. Empty, and a reason: there is no RDMA device.
std::vector<PortReport> report_ports(const PortPreference& preference, std::string& reason);

}  // namespace openlapi::verbs
