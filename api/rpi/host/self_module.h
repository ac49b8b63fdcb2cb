// The module `self`: messages of a process to itself (rpi SSI specification, 5.1).
#pragma once

#include "api/rpi/include/lam-ssi-rpi.h"

namespace openlapi::rpi {

// For RpiModules and HostModules, as a built-in module.
const lam_ssi_1_0_0_t* self_module();

}  // namespace openlapi::rpi
