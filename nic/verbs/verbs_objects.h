// Objects of libibverbs, destroyed with their owner. Declare them in the order in which they are created.
#pragma once

#include <infiniband/verbs.h>

#include <memory>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

template <auto Destroy>
struct Destroyer {
  void operator()(auto* object) const {
    const CancellationOff off;
    Destroy(object);
  }
};

using DeviceContext = std::unique_ptr<ibv_context, Destroyer<ibv_close_device>>;
using ProtectionDomain = std::unique_ptr<ibv_pd, Destroyer<ibv_dealloc_pd>>;
using MemoryRegion = std::unique_ptr<ibv_mr, Destroyer<ibv_dereg_mr>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, Destroyer<ibv_destroy_comp_channel>>;
using CompletionQueue = std::unique_ptr<ibv_cq, Destroyer<ibv_destroy_cq>>;
using SharedReceiveQueue = std::unique_ptr<ibv_srq, Destroyer<ibv_destroy_srq>>;
using QueuePair = std::unique_ptr<ibv_qp, Destroyer<ibv_destroy_qp>>;
using AddressHandle = std::unique_ptr<ibv_ah, Destroyer<ibv_destroy_ah>>;

}  // namespace openlapi::verbs
