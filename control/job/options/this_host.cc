#include "control/job/options/this_host.h"

#include <strings.h>

#include <algorithm>
#include <initializer_list>
#include <stdexcept>

#include "control/base/host_name.h"

namespace openlapi {

bool is_this_host(const std::string& name) {
  const std::string own = host_name();
  return std::ranges::any_of(std::initializer_list<const char*>{"localhost", "127.0.0.1", "::1", own.c_str()},
                             [&](const char* here) { return strcasecmp(name.c_str(), here) == 0; });
}

std::uint32_t tasks_here(const JobPlacement& placement) {
  const std::uint32_t named = std::max(1U, static_cast<std::uint32_t>(placement.hosts.size()));
  if (placement.per_node == 0) return placement.tasks != 0 ? placement.tasks : named;
  if (placement.tasks > placement.per_node) {
    const std::string room = std::to_string(placement.per_node);
    throw std::invalid_argument("-n " + std::to_string(placement.tasks) + " with -N " + room +
                                ": this machine alone takes " + room + "; a universe (lamboot) has more nodes");
  }
  return placement.tasks != 0 ? placement.tasks : placement.per_node;
}

}  // namespace openlapi
