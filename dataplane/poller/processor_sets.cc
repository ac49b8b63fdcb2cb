// What needs no hwloc.
#include <sched.h>

#include "dataplane/poller/machine_cores.h"

namespace openlapi {

std::vector<int> allowed_processors() {
  std::vector<int> processors;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return processors;
  for (int processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &set)) processors.push_back(processor);
  }
  return processors;
}

std::string to_ranges(const std::vector<int>& processors) {
  std::string text;
  for (std::size_t first = 0; first < processors.size();) {
    std::size_t last = first;
    while (last + 1 < processors.size() && processors[last + 1] == processors[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(processors[first]);
    if (last > first) text.append("-").append(std::to_string(processors[last]));
    first = last + 1;
  }
  return text;
}

}  // namespace openlapi
