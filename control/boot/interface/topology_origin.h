// The origin of the universe, where it is not who boots: in a helper of the tree algorithm, to which its daemons
// report, and in lamgrow on another node.
#pragma once

#include <string>

#include "control/boot/include/lamnet.h"

namespace openlapi::boot {

struct TopologyOrigin {
  int node_id = 0;
  // As daemons are told of hosts: an address, or with -l a name. Empty: not known, or where their agent is.
  std::string host{};
};

// The host of a node, as daemons are told of it.
std::string topology_host(const lamnode& node);

// From now on the -o of lam_ssi_boot_build_inet_topo, whatever its caller says, and the parameter boot_base_origin of
// what is started. No word of the topology: daemons of other makers know -H, -P, -n and -o.
void set_topology_origin(TopologyOrigin origin);

}  // namespace openlapi::boot
