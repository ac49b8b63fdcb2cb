// All memory of the process known to the adapter by one registration that pins nothing (implicit on-demand paging): the
// adapter asks the kernel for each page when it meets it, and the kernel tells it of each change.
//
// It serves beside the cache of registered memory: for memory that could not stay registered, since nothing tells of
// its changes (memory_kind.h), and where no more may be pinned. Memory that can stay registered does, since the adapter
// stops at each page that it has not met. Memory that is not there is noticed by the read, which fails. Peers get a key
// of all memory; it can only be read with it. mlx5 has it. Soft-RoCE of newer kernels has paging of single ranges only,
// which spares nothing.
#pragma once

#include <cstdint>

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

enum class OnDemandPaging : std::uint8_t {
  beside_cache,
  never,
  always,  // nothing else is registered for reads
};

// Null: the adapter cannot, or refuses.
MemoryRegion register_whole_memory(ibv_context& context, ibv_pd& domain);

}  // namespace openlapi::verbs
