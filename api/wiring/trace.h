// The seam between the library and its tracing: liblapi.so is linked with untraced.cc, libtrace/liblapi.so with
// what is under libtrace/ (appendix D, MP_LAPI_TRACE_LEVEL).
#pragma once

#include <memory>

#include "dataplane/host/handler_host.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// Whether this library traces at all; without that MP_LAPI_TRACE_LEVEL is ignored.
bool tracing_is_built();

// LAPI_Init has read MP_LAPI_TRACE_LEVEL (0..5) and knows which task this is. Later calls change the level.
void start_tracing(int level, PeerIndex task);

// The transport itself, or one around it that writes down what passes.
std::unique_ptr<Transport> traced(std::unique_ptr<Transport> transport);

// A host around `host` that writes down which handlers run; null when that is not asked for. `host` outlives it.
std::unique_ptr<HandlerHost> traced(HandlerHost& host);

}  // namespace openlapi
