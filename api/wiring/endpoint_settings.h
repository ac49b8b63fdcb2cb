// What the settings of a task, and what its transports were opened with, mean for its endpoint.
#pragma once

#include <cstdint>

#include "api/wiring/environment.h"
#include "api/wiring/open_transports.h"
#include "dataplane/host/endpoint_config.h"

namespace openlapi {

// `timeout`: of the endpoint, unless the user wants none.
EndpointConfig endpoint_config(const Settings& settings, const OpenTransports& opened, std::uint32_t instance,
                               Nanoseconds timeout);

}  // namespace openlapi
