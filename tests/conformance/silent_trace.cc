#include "libtrace/trace_log.h"

namespace openlapi {

std::atomic<int> trace_level{static_cast<int>(TraceLevel::packets)};
std::atomic<PeerIndex> trace_task{0};
void trace(const char*, ...) {}

}  // namespace openlapi
