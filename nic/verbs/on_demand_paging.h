// All memory of the process known to the adapter by one registration that pins nothing (implicit on-demand paging): the
// adapter asks the kernel for each page when it meets it, and the kernel tells it of each change.
//
// It serves beside the cache of registered memory: for memory that could not stay registered, since nothing tells of
// its changes (memory_kind.h), and where no more may be pinned. Memory that can stay registered does, since the adapter
// stops at each page that it has not met. Memory that cannot be paged (not there, or a device's) is noticed by
// page_in(). Peers get a key of all memory; it can only be read with it. A region of its own serves gets that need no
// message (short_reads.h). mlx5 has it. Soft-RoCE of newer kernels has paging of single ranges only, which spares
// nothing.
#pragma once

#include <cstdint>

#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

enum class OnDemandPaging : std::uint8_t {
  beside_cache,
  never,
  always,  // nothing else is registered for reads
};

bool pages_whole_memory(ibv_context& context);

// `writable`: this end's adapter may write what it reads there. Null: the adapter refuses.
MemoryRegion register_whole_memory(ibv_pd& domain, bool writable);

// Has the adapter meet these pages now. False: it cannot use them in this region, or cannot say so beforehand; a read
// would fail and break its connection.
bool page_in(ibv_pd& domain, const ibv_mr& whole, std::uint64_t begin, std::uint64_t end, bool writable);

}  // namespace openlapi::verbs
