#include "tests/beds/shim_paging.h"

#include <cerrno>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "dataplane/base/check.h"
#include "tests/beds/adapter_shim.h"

namespace openlapi::test {
namespace {

using QueryDevice = decltype(verbs_context::query_device_ex);

struct PagedRegion {
  ibv_mr seen{};
  std::vector<ibv_mr*> met;  // registered for reads
};

struct Paging {
  std::mutex mutex;
  std::map<ibv_context*, QueryDevice> query_device;  // the device's own
  std::map<std::uint32_t, std::unique_ptr<PagedRegion>> regions;
  std::uint32_t next_key = 0xd0000001;  // soft-RoCE begins with low ones
};

// Never destroyed: transports may be, after main().
Paging& paging() {
  static auto* const the_one = new Paging;
  return *the_one;
}

int query_device(ibv_context* context, const ibv_query_device_ex_input* input, ibv_device_attr_ex* attributes,
                 std::size_t length) {
  QueryDevice device_own = nullptr;
  {
    const std::lock_guard guard(paging().mutex);
    device_own = paging().query_device.at(context);
  }
  const int result = device_own(context, input, attributes, length);
  if (result != 0 || adapter_shim.on_demand_paging == 0) return result;
  OPENLAPI_CHECK(length >= sizeof *attributes);
  attributes->odp_caps.general_caps = adapter_shim.on_demand_paging;
  attributes->odp_caps.per_transport_caps.rc_odp_caps =
      IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_WRITE | IBV_ODP_SUPPORT_READ;
  return 0;
}

// Whether a READ would find these pages.
int advise(ibv_pd* domain, ibv_advise_mr_advice advice, std::uint32_t, ibv_sge* ranges, std::uint32_t count) {
  const std::lock_guard guard(paging().mutex);
  for (const ibv_sge& range : std::span(ranges, count)) {
    const auto region = paging().regions.find(range.lkey);
    if (region == paging().regions.end() || region->second->seen.pd != domain) return EINVAL;
    const int rights = advice == IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE ? IBV_ACCESS_LOCAL_WRITE : IBV_ACCESS_REMOTE_READ;
    ibv_mr* const made = register_with_device(domain, reinterpret_cast<void*>(range.addr), range.length, rights);
    if (made == nullptr) return EFAULT;
    deregister_from_device(made);
  }
  return 0;
}

// As it is now. False: there is no such region, or no such memory.
bool meet(std::uint32_t& key, std::uint64_t address, std::size_t length, int rights) {
  const std::lock_guard guard(paging().mutex);
  const auto region = paging().regions.find(key);
  if (region == paging().regions.end()) return false;
  ibv_mr* const made = register_with_device(region->second->seen.pd, reinterpret_cast<void*>(address), length, rights);
  if (made == nullptr) return false;
  region->second->met.push_back(made);
  key = made->lkey;
  OPENLAPI_CHECK(made->lkey == made->rkey || (rights & IBV_ACCESS_REMOTE_READ) == 0);
  return true;
}

}  // namespace

void add_paging(verbs_context& context) {
  const std::lock_guard guard(paging().mutex);
  paging().query_device[&context.context] = context.query_device_ex;
  context.query_device_ex = query_device;
  context.advise_mr = advise;
}

bool wants_paged_region(const void* address, std::size_t length, unsigned rights) {
  return (rights & IBV_ACCESS_ON_DEMAND) != 0 && address == nullptr && length == SIZE_MAX;
}

ibv_mr* make_paged_region(ibv_pd& domain) {
  if (adapter_shim.paging_refused || (adapter_shim.on_demand_paging & IBV_ODP_SUPPORT_IMPLICIT) == 0) {
    return errno = EOPNOTSUPP, nullptr;
  }
  const std::lock_guard guard(paging().mutex);
  auto made = std::make_unique<PagedRegion>();
  made->seen.context = domain.context;
  made->seen.pd = &domain;
  made->seen.length = SIZE_MAX;
  made->seen.lkey = made->seen.rkey = paging().next_key++;
  ibv_mr* const seen = &made->seen;
  paging().regions[seen->lkey] = std::move(made);
  return seen;
}

bool end_paged_region(ibv_mr* region) {
  const std::lock_guard guard(paging().mutex);
  const auto found = paging().regions.find(region->lkey);
  if (found == paging().regions.end() || &found->second->seen != region) return false;
  for (ibv_mr* const one : found->second->met) deregister_from_device(one);
  paging().regions.erase(found);
  return true;
}

int page_in(ibv_sge& local, ibv_send_wr& request) {
  const int here = meet(local.lkey, local.addr, local.length, IBV_ACCESS_LOCAL_WRITE) ? 1 : 0;
  const int there =
      meet(request.wr.rdma.rkey, request.wr.rdma.remote_addr, local.length, IBV_ACCESS_REMOTE_READ) ? 1 : 0;
  return here + there;
}

}  // namespace openlapi::test
