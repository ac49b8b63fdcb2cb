// The cores of this machine, and which of them are near an adapter, found with hwloc. A library built without hwloc
// knows neither. Processors are the kernel's numbers of hardware threads.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// The processors that the calling thread may use.
std::vector<int> allowed_processors();

// The same, grouped by core. Takes milliseconds. Empty: not known.
std::vector<std::vector<int>> allowed_cores();

// The processors nearest to a network interface (eth0), an RDMA device (mlx5_0) or a PCI device (0000:3b:00.0). Empty:
// there is no such device, or its place is not known (as for devices without hardware). `system`: where sysfs is
// mounted.
std::vector<int> processors_near(const std::string& device, const std::string& system = "/sys");

// "0-3,8".
std::string to_ranges(const std::vector<int>& processors);

}  // namespace openlapi
