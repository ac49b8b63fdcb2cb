// Implicit on-demand paging of the shim (adapter_shim.h), on a device that has none. Reads with the key of such a
// region are given keys of registrations that are made for them, at both ends: these are regions of this program.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>

namespace openlapi::test {

// A device's context says that it has it as adapter_shim.on_demand_paging says.
void add_paging(verbs_context& context);

// Whether such a region is asked for; made or refused (null, errno) by make_paged_region().
bool wants_paged_region(const void* address, std::size_t length, unsigned rights);
ibv_mr* make_paged_region(ibv_pd& domain);

// False: it is no such region.
bool end_paged_region(ibv_mr* region);

// Puts other keys into a READ. Returns how many of its two ends were in such regions.
int page_in(ibv_sge& local, ibv_send_wr& request);

// libibverbs's own.
ibv_mr* register_with_device(ibv_pd* domain, void* address, std::size_t length, int rights);
void deregister_from_device(ibv_mr* region);

}  // namespace openlapi::test
