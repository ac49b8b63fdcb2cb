#include "control/job/node/direct_heap.h"

#include "control/base/heap_libraries.h"

namespace openlapi {

bool preload_heap(TaskEnvironment& environment, const std::string& library) {
  const std::string wanted = environment.get("OPENLAPI_DIRECT_HEAP");
  if (wanted.empty() || wanted == "no") return true;
  if (library.empty()) return false;
  std::string preloaded = environment.get("LD_PRELOAD");
  if (!preloaded.empty()) preloaded += ' ';
  environment.set("LD_PRELOAD", preloaded + library + ' ' + kHeapAllocator);
  environment.set_default("OPENLAPI_DIRECT", "auto");
  return true;
}

}  // namespace openlapi
