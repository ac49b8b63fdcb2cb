// Whether a device is a piece of hardware, or the kernel's processor plays one (soft-RoCE).
#pragma once

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// Whether the adapter places the bytes of a short RDMA WRITE from the first to the last, so that whoever sees the last
// one sees all. InfiniBand does not promise that: a write's bytes may come in any order until its completion.
// Mellanox's adapters that mlx4 and mlx5 drive do so in practice, and others rely on it there (README.md).
bool writes_in_order(const ibv_device& device, const ibv_device_attr& attributes);

bool is_software(const ibv_device& device, const ibv_device_attr& attributes);

}  // namespace openlapi::verbs
