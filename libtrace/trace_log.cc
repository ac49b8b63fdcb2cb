#include "libtrace/trace_log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <ctime>

#include "api/wiring/trace.h"

namespace openlapi {

std::atomic<int> trace_level{0};
std::atomic<PeerIndex> trace_task{0};

void trace(const char* format, ...) {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::array<char, 512> line;
  const std::size_t room = line.size() - 1;  // of the end of the line
  auto length = static_cast<std::size_t>(std::snprintf(line.data(), room, "lapi-trace %u %lld.%09ld %d ",
                                                       trace_task.load(std::memory_order_relaxed),
                                                       static_cast<long long>(now.tv_sec), now.tv_nsec, gettid()));
  va_list arguments;
  va_start(arguments, format);
  const int added = std::vsnprintf(line.data() + length, room - length, format, arguments);
  va_end(arguments);
  length = added < 0 ? length : std::min(length + static_cast<std::size_t>(added), room - 1);
  line[length++] = '\n';
  // A trace that cannot be written is not worth failing for.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), length);
}

bool tracing_is_built() { return true; }

void start_tracing(int level, PeerIndex task) {
  trace_task.store(task, std::memory_order_relaxed);
  trace_level.store(level, std::memory_order_relaxed);
  if (level > 0) trace("tracing at level %d", level);
}

}  // namespace openlapi
