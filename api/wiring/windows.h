// The windows of a user space mode task that no launcher started (the guide's chapter 16). The lamd of its node lends
// them to all contexts of the process until it ends. Not thread-safe: one call at a time.
#pragma once

#include <memory>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "control/client/bootstrap.h"

namespace openlapi {

// `bootstrap`, a standalone one, is replaced by one that can exchange, and the adapters in `settings` by the devices
// that the network table names for them.
bool lease_windows(Settings& settings, std::shared_ptr<Bootstrap>& bootstrap, OpenFailure& failure);

// The windows are no longer valid: the next context asks again.
void forget_windows();

}  // namespace openlapi
