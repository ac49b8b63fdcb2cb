#include "nic/verbs/on_demand_paging.h"

#include <algorithm>
#include <cstdint>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

bool pages_whole_memory(ibv_context& context) {
  ibv_device_attr_ex device{};
  if (ibv_query_device_ex(&context, nullptr, &device) != 0) return false;
  constexpr std::uint64_t kGeneral = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  // Of both ends of a READ.
  return (device.odp_caps.general_caps & kGeneral) == kGeneral &&
         (device.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_READ) != 0;
}

MemoryRegion register_whole_memory(ibv_pd& domain, bool writable) {
  const CancellationOff off;
  constexpr unsigned kRead = IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ;
  constexpr unsigned kBoth = kRead | IBV_ACCESS_LOCAL_WRITE;
  return MemoryRegion(writable ? ibv_reg_mr(&domain, nullptr, SIZE_MAX, kBoth)
                               : ibv_reg_mr(&domain, nullptr, SIZE_MAX, kRead));
}

bool page_in(ibv_pd& domain, const ibv_mr& whole, std::uint64_t begin, std::uint64_t end, bool writable) {
  constexpr std::uint64_t kAtOnce = 1u << 30;  // lengths have 32 bits
  const CancellationOff off;
  const auto advice = writable ? IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE : IBV_ADVISE_MR_ADVICE_PREFETCH;
  for (; begin < end; begin += std::min(kAtOnce, end - begin)) {
    ibv_sge range{
        .addr = begin, .length = static_cast<std::uint32_t>(std::min(kAtOnce, end - begin)), .lkey = whole.lkey};
    if (ibv_advise_mr(&domain, advice, IBV_ADVISE_MR_FLAG_FLUSH, &range, 1) != 0) return false;
  }
  return true;
}

}  // namespace openlapi::verbs
