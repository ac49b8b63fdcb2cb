// What the startup protocol functions and the tree's helpers share.
#pragma once

#include <netinet/in.h>

#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/startup/startup_exchange.h"

namespace openlapi::boot {

// The boot is over: daemons that were not told the universe end.
void forget_daemons();

// LAM_MPI_SSI_boot_base_promisc. Throws BootError.
bool is_promiscuous();

// Where to listen for those that were started: the local node's address, which they are told; promiscuous: any.
in_addr_t listening_address(const lamnode* nodes, int count);

// The agent's address (options -H and -P), and the node's number (-n), as the process that was started was told them.
// Throws BootError.
sockaddr_in agent_of(OPT* args);
int node_id_of(OPT* args);

}  // namespace openlapi::boot
