#include "dataplane/poller/machine_cores.h"

#include <hwloc.h>
#include <hwloc/linux.h>

#include <memory>

namespace openlapi {

namespace {

struct FreeBitmap {
  void operator()(hwloc_bitmap_s* bitmap) const { hwloc_bitmap_free(bitmap); }
};
using Bitmap = std::unique_ptr<hwloc_bitmap_s, FreeBitmap>;

struct FreeTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};

std::vector<int> processors_of(hwloc_const_bitmap_t bitmap) {
  std::vector<int> processors;
  for (int at = hwloc_bitmap_first(bitmap); at >= 0; at = hwloc_bitmap_next(bitmap, at)) processors.push_back(at);
  return processors;
}

bool read_processors(const std::string& path, std::vector<int>& processors) {
  const Bitmap near(hwloc_bitmap_alloc());
  if (near == nullptr || hwloc_linux_read_path_as_cpumask(path.c_str(), near.get()) != 0) return false;
  if (hwloc_bitmap_weight(near.get()) < 0) return false;  // all that there can be
  processors = processors_of(near.get());
  return !processors.empty();
}

}  // namespace

std::vector<std::vector<int>> allowed_cores() {
  hwloc_topology_t loaded = nullptr;
  if (hwloc_topology_init(&loaded) != 0) return {};
  const std::unique_ptr<hwloc_topology, FreeTopology> topology(loaded);
  hwloc_topology_set_all_types_filter(loaded, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(loaded, HWLOC_OBJ_CORE, HWLOC_TYPE_FILTER_KEEP_ALL);
  const Bitmap allowed(hwloc_bitmap_alloc());
  if (allowed == nullptr || hwloc_topology_load(loaded) != 0) return {};
  for (const int processor : allowed_processors()) hwloc_bitmap_set(allowed.get(), static_cast<unsigned>(processor));
  const bool has_cores = hwloc_get_nbobjs_by_type(loaded, HWLOC_OBJ_CORE) > 0;
  const hwloc_obj_type_t type = has_cores ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  std::vector<std::vector<int>> cores;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(loaded, type, core)) != nullptr;) {
    const Bitmap usable(hwloc_bitmap_alloc());
    if (usable == nullptr) return {};
    hwloc_bitmap_and(usable.get(), core->cpuset, allowed.get());
    if (hwloc_bitmap_iszero(usable.get()) == 0) cores.push_back(processors_of(usable.get()));
  }
  return cores;
}

std::vector<int> processors_near(const std::string& device, const std::string& system) {
  std::vector<int> processors;
  if (device.empty() || device.find('/') != std::string::npos || device.starts_with(".")) return processors;
  for (const char* kind : {"/class/infiniband/", "/class/net/"}) {
    if (read_processors(system + kind + device + "/device/local_cpus", processors)) return processors;
  }
  read_processors(system + "/bus/pci/devices/" + device + "/local_cpus", processors);
  return processors;
}

}  // namespace openlapi
