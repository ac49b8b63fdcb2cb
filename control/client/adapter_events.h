// PMIx events by which the tasks of a job tell each other of their adapters (adapter_event.h), where the launcher's
// server carries them.
#pragma once

#include <memory>

#include "control/client/adapter_source.h"
#include "control/client/pmix_session.h"

namespace openlapi {

// From now on this process takes in what others say, and says what it is told of its own adapters; for as long as it
// lives. Null: the system gives no descriptor.
std::unique_ptr<AdapterSource> open_adapter_events(const PmixIdentity& identity);

}  // namespace openlapi
