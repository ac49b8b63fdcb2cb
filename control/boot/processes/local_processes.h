// Starts processes of the run-time environment on this machine, without an agent.
#pragma once

#include "control/boot/nodes/schema_nodes.h"

namespace openlapi::boot {

// What lsba_start_application and lsba_start_rte_proc do and return. Daemons become sessions of their own, with
// the key of this boot on standard input; tkill, which wipes and with -N only tells that it could be run, is awaited.
int start_application_here(char*** argv, int* argc, int num_procs, lamnode* node);
int start_here(lamnode* node, lam_ssi_boot_proc_t which, const OriginNode& origin);

}  // namespace openlapi::boot
