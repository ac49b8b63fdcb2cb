// The cores of this machine that lapirun may use, by hwloc.
#pragma once

#include <string>
#include <vector>

#include "control/job/node/binding_plan.h"

namespace openlapi {

class MachineTopology {
 public:
  MachineTopology() = default;
  ~MachineTopology();
  MachineTopology(const MachineTopology&) = delete;
  MachineTopology& operator=(const MachineTopology&) = delete;

  // Reads cores and hardware threads only; caches and devices cost milliseconds and nobody asks for them.
  bool load(std::string& error);

  // In hwloc's order (near ones beside each other), limited to the affinity and the cpuset of this process.
  std::vector<Core> cores() const;

  // hwloc_topology_t; owned here.
  void* handle() const { return handle_; }

 private:
  void* handle_ = nullptr;
};

}  // namespace openlapi
