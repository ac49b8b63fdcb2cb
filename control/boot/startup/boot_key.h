// The key of this boot, which the booting agent makes and hands on.
#pragma once

#include "control/boot/startup/startup_exchange.h"

namespace openlapi::boot {

// Made if nobody has given or made one. Thread safe. Throws BootError.
const StartupKey& boot_key();

// The one that was given or made. Throws BootError: there is none.
const StartupKey& key_of_boot();

}  // namespace openlapi::boot
