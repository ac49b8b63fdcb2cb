// The mistakes of the boot service are those of every service of the SSI.
#pragma once

#include "control/ssi/ssi_error.h"

namespace openlapi::boot {

using BootError = ssi::SsiError;
using ssi::c_copy;
using ssi::catch_errors;
using ssi::fail;
using ssi::print_error;
using ssi::shown;

}  // namespace openlapi::boot
