// Where trace output goes: one line per event on standard error, written with one call so that lines of several tasks
// and threads do not mix.
//
//   lapi-trace TASK SECONDS THREAD EVENT
//
// SECONDS are CLOCK_MONOTONIC's, the same for all tasks of a node.
#pragma once

#include <atomic>

#include "dataplane/transport/packet.h"

namespace openlapi {

// What each value of MP_LAPI_TRACE_LEVEL adds.
enum class TraceLevel : int {
  off = 0,
  contexts = 1,  // LAPI_Init, LAPI_Term, calls that fail, faults
  calls = 2,     // every call with its result
  handlers = 3,  // header handlers and completion handlers
  packets = 4,   // packets that leave and arrive
  bytes = 5,     // with their first bytes
};

extern std::atomic<int> trace_level;  // 0 until start_tracing()
extern std::atomic<PeerIndex> trace_task;

inline bool traces(TraceLevel level) { return trace_level.load(std::memory_order_relaxed) >= static_cast<int>(level); }

void trace(const char* format, ...) __attribute__((format(printf, 1, 2)));

}  // namespace openlapi
