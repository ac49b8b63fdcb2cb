// The origin of the universe where that is not the process that boots: in a helper of the tree algorithm, to which its
// daemons report, and in lamgrow on another node.
#pragma once

#include <string>

#include "control/boot/include/lamnet.h"

namespace openlapi::boot {

struct TopologyOrigin {
  int node_id = 0;
  // As daemons are told it: an address, or with -l a name. Empty: not known, or the host of their agent.
  std::string host{};
};

// The host of a node, as daemons are told it.
std::string topology_host(const lamnode& node);

// From now on this is the -o of lam_ssi_boot_build_inet_topo, whatever its caller says. The host goes into the
// parameter boot_base_origin of what is started, and not into the topology: daemons of other makers know only -H, -P,
// -n and -o.
void set_topology_origin(TopologyOrigin origin);

}  // namespace openlapi::boot
