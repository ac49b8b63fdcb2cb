// The windows of a task of user space mode that no launcher started (the guide's chapter 16): lent by the lamd of its
// node, to all contexts of the process, until it ends. One call at a time.
#pragma once

#include <memory>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "control/client/bootstrap.h"

namespace openlapi {

// `bootstrap`, a standalone one, becomes one that can exchange, and the adapters in `settings` become the devices that
// the network table names for them.
bool lease_windows(Settings& settings, std::shared_ptr<Bootstrap>& bootstrap, OpenFailure& failure);

// They do not serve any more: the next context asks again.
void forget_windows();

}  // namespace openlapi
