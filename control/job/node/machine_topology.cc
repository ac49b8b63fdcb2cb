#include "control/job/node/machine_topology.h"

#include <hwloc.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace openlapi {
namespace {

hwloc_topology_t as_hwloc(void* handle) { return static_cast<hwloc_topology_t>(handle); }

struct BitmapDeleter {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};

}  // namespace

MachineTopology::~MachineTopology() {
  if (handle_ != nullptr) hwloc_topology_destroy(as_hwloc(handle_));
}

bool MachineTopology::load(std::string& error) {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) == 0) {
    handle_ = topology;
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
    if (hwloc_topology_load(topology) == 0) return true;
  }
  error = std::string("hwloc cannot read this machine's topology: ") + std::strerror(errno);
  return false;
}

std::vector<Core> MachineTopology::cores() const {
  hwloc_topology_t topology = as_hwloc(handle_);
  const std::unique_ptr<hwloc_bitmap_s, BitmapDeleter> allowed(hwloc_bitmap_alloc());
  if (!allowed || hwloc_get_cpubind(topology, allowed.get(), HWLOC_CPUBIND_THREAD) != 0) return {};
  hwloc_bitmap_and(allowed.get(), allowed.get(), hwloc_topology_get_allowed_cpuset(topology));
  std::vector<Core> cores;
  // Where the system hides cores, each hardware thread counts as one.
  const bool has_cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
       object = hwloc_get_next_obj_by_type(topology, type, object)) {
    Core core{object->logical_index, {}};
    for (int at = hwloc_bitmap_next(object->cpuset, -1); at >= 0; at = hwloc_bitmap_next(object->cpuset, at))
      if (hwloc_bitmap_isset(allowed.get(), static_cast<unsigned>(at)))
        core.processors.push_back(static_cast<unsigned>(at));
    if (!core.processors.empty()) cores.push_back(std::move(core));
  }
  return cores;
}

}  // namespace openlapi
