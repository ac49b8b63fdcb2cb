// In a helper of the tree algorithm daemons report to the helper, but the origin of the universe is another node.
#pragma once

namespace openlapi::boot {

// The -o of lam_ssi_boot_build_inet_topo from now on, whatever its caller says.
void set_topology_origin(int node_id);

}  // namespace openlapi::boot
