// Starts processes of the run-time environment on this machine, without an agent.
#pragma once

#include "control/boot/nodes/schema_nodes.h"

namespace openlapi::boot {

// These do and return what lsba_start_application and lsba_start_rte_proc do. Daemons get sessions of their own and the
// key of this boot on standard input. tkill is waited for; it wipes, or with -N only tells that it could be run.
int start_application_here(char*** argv, int* argc, int num_procs, lamnode* node);
int start_here(lamnode* node, lam_ssi_boot_proc_t which, const OriginNode& origin);

}  // namespace openlapi::boot
