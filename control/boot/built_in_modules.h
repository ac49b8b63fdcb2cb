// The modules that need no shared object.
#pragma once

#include <span>

#include "api/lam-ssi.h"

namespace openlapi::boot {

std::span<const lam_ssi_1_0_0_t* const> built_in_modules();

}  // namespace openlapi::boot
