// The cores of this machine and which of them are near an adapter, by hwloc; a library that was built without hwloc
// knows neither. Processors are the numbers that the kernel gives to hardware threads.
#pragma once

#include <string>
#include <vector>

namespace openlapi {

// Those that the calling thread may use.
std::vector<int> allowed_processors();

// The same in groups, one for each core. Takes milliseconds. Empty: not known.
std::vector<std::vector<int>> allowed_cores();

// The processors that are nearest to a network interface (eth0), an RDMA device (mlx5_0) or a PCI device
// (0000:3b:00.0). Empty: there is no such device, or its place is not known (a device without hardware has none).
// `system` is where the kernel describes devices.
std::vector<int> processors_near(const std::string& device, const std::string& system = "/sys");

// "0-3,8".
std::string to_ranges(const std::vector<int>& processors);

}  // namespace openlapi
