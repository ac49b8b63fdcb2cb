// The modules that need no shared object.
#pragma once

#include <span>

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

extern const lam_ssi_boot_1_1_0_t local_module;
extern const lam_ssi_boot_1_1_0_t rsh_module;
extern const lam_ssi_boot_1_1_0_t slurm_module;

std::span<const lam_ssi_1_0_0_t* const> built_in_modules();

}  // namespace openlapi::boot
