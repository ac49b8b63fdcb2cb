// Thread domains of the shim (adapter_shim.h), on a device that has none.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace openlapi::test {

// A device's context gets them; they are granted when adapter_shim.thread_domains says so.
void add_thread_domains(verbs_context& context);

// The domain that the device itself has for this one.
ibv_pd* device_domain(ibv_pd* domain);

// False: it is no parent domain.
bool end_parent_domain(ibv_pd* domain);

void forget_domain_counts();

// libibverbs's own ibv_create_cq().
ibv_cq* create_device_cq(ibv_context* context, int length, ibv_comp_channel* channel);

// Notes what is made, in a parent domain or (null, too) outside of them.
enum class DomainObject : std::uint8_t { queue_pair, completion_queue, shared_queue };
void note_made(DomainObject object, const ibv_pd* domain);

}  // namespace openlapi::test
