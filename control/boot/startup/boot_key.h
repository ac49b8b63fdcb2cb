// The key of this boot, which the booting agent makes and hands on.
#pragma once

#include "control/boot/startup/startup_exchange.h"

namespace openlapi::boot {

// Makes one if none was given or made yet. Thread safe. Throws BootError.
const StartupKey& boot_key();

// Throws BootError if none was given or made.
const StartupKey& key_of_boot();

}  // namespace openlapi::boot
