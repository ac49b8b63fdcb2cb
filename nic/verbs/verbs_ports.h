// What RDMA ports this machine has, asked through libibverbs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nic/verbs/port_choice.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// All ports of all devices, or of the device with this name. Opens each device for a moment (milliseconds). A device
// that cannot be opened is one entry with a problem. Empty, and a reason: there is no device of any name.
std::vector<PortFacts> find_ports(const std::string& device, std::string& reason);

// Null: `reason` says why, and the error number is in errno.
DeviceContext open_device(const std::string& name, std::string& reason);

// For people: one port and what a transport would do with it.
struct PortReport {
  PortFacts facts;
  std::optional<GidFacts> gid;  // the one that would be used
  std::string reason;           // why the port cannot be used; empty: it can
  bool chosen = false;          // used when nothing is said
};

// What `lapi_info` shows. Empty, and a reason: there is no RDMA device.
std::vector<PortReport> report_ports(std::string& reason);

}  // namespace openlapi::verbs
