#include "nic/verbs/address_handles.h"

#include <algorithm>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {

std::shared_ptr<ibv_ah> AddressHandles::find_or_make(ibv_pd& domain, const ibv_ah_attr& route, std::uint32_t moves,
                                                     bool anew) {
  Gid gid{};
  if (route.is_global != 0) std::copy_n(route.grh.dgid.raw, gid.size(), gid.begin());
  const Key key{gid, route.dlid, route.is_global != 0, moves};
  if (const auto known = known_.find(key); !anew && known != known_.end()) {
    if (auto handle = known->second.lock()) return handle;
  }
  const CancellationOff off;
  ibv_ah_attr wanted = route;
  std::shared_ptr<ibv_ah> made(AddressHandle(ibv_create_ah(&domain, &wanted)));
  if (!made) return nullptr;
  if (known_.size() >= clean_at_) {
    std::erase_if(known_, [](const auto& entry) { return entry.second.expired(); });
    clean_at_ = 2 * known_.size() + 64;
  }
  known_[key] = made;
  return made;
}

}  // namespace openlapi::verbs
