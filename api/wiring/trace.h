// The seam between the library and its tracing: liblapi.so is linked with untraced.cc, libtrace/liblapi.so with the
// files under libtrace/ (appendix D, MP_LAPI_TRACE_LEVEL).
#pragma once

#include <memory>

#include "dataplane/host/handler_host.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// Whether this library can trace at all; otherwise MP_LAPI_TRACE_LEVEL is ignored.
bool tracing_is_built();

// Called when LAPI_Init has read MP_LAPI_TRACE_LEVEL (0..5) and knows the task. Later calls change the level.
void start_tracing(int level, PeerIndex task);

// The transport itself, or a wrapper that logs what passes through it.
std::unique_ptr<Transport> traced(std::unique_ptr<Transport> transport);

// A wrapper of `host` that logs which handlers run; null: not asked for. `host` outlives it.
std::unique_ptr<HandlerHost> traced(HandlerHost& host);

}  // namespace openlapi
