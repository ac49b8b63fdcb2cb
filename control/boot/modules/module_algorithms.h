// Which algorithm built-in modules use.
#pragma once

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

using BootAlgorithm = int (*)(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                              int* num_started);

// The one that LAM_MPI_SSI_boot_base_algorithm names, else `otherwise`; daemons with the startup protocol.
int boot_as_asked(BootAlgorithm otherwise, lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started);

}  // namespace openlapi::boot
