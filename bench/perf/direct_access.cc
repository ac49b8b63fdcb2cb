#include "bench/perf/direct_access.h"

#include <strings.h>

#include <cstdlib>

#include "shm/shm_direct_memory.h"

namespace openlapi::bench {
namespace {

constexpr const char* kVariable = "OPENLAPI_DIRECT";

std::string value() {
  const char* const text = std::getenv(kVariable);
  return text != nullptr ? text : "no";
}

}  // namespace

bool asks_for_direct_access() { return strcasecmp(value().c_str(), "no") != 0; }

// As lapi_info finds it out: by trying.
std::string why_not_directly() {
  DirectReach reach;
  std::string refused = ShmDirectMemory::why_not(reach);
  if (!refused.empty() || reach.no_heap.empty() || reach.no_promotion.empty()) return refused;
  return reach.no_promotion + "; and the heap is not shared from the beginning: " + reach.no_heap;
}

MessagesOnly::MessagesOnly() : before_(value()) { setenv(kVariable, "no", 1); }

MessagesOnly::~MessagesOnly() { setenv(kVariable, before_.c_str(), 1); }

}  // namespace openlapi::bench
