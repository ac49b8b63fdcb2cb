#include "nic/verbs/on_demand_paging.h"

#include <cstdint>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {
namespace {

bool pages_whole_memory(ibv_context& context) {
  ibv_device_attr_ex device{};
  if (ibv_query_device_ex(&context, nullptr, &device) != 0) return false;
  constexpr std::uint64_t kGeneral = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  // Of both ends of a READ.
  return (device.odp_caps.general_caps & kGeneral) == kGeneral &&
         (device.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ) != 0;
}

}  // namespace

MemoryRegion register_whole_memory(ibv_context& context, ibv_pd& domain) {
  const CancellationOff off;
  if (!pages_whole_memory(context)) return nullptr;
  constexpr unsigned kRights = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  return MemoryRegion(ibv_reg_mr(&domain, nullptr, SIZE_MAX, kRights));
}

}  // namespace openlapi::verbs
