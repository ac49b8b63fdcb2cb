#include "nic/verbs/address_handles.h"

#include <algorithm>
#include <cerrno>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kPause = 10'000;  // milliseconds

}  // namespace

std::shared_ptr<ibv_ah> AddressHandles::find_or_make(ibv_pd& domain, const ibv_ah_attr& route, std::uint32_t moves,
                                                     bool anew) {
  Gid gid{};
  if (route.is_global != 0) std::copy_n(route.grh.dgid.raw, gid.size(), gid.begin());
  const Key key{gid, route.dlid, route.is_global != 0, moves};
  const std::uint64_t now = milliseconds();
  if (const auto known = known_.find(key); known != known_.end()) {
    auto handle = known->second.handle.lock();
    if (handle && !anew) return handle;
    if (now < known->second.not_before) return errno = EHOSTUNREACH, nullptr;
  }
  clean(now);
  const CancellationOff off;
  ibv_ah_attr wanted = route;
  std::shared_ptr<ibv_ah> made(AddressHandle(ibv_create_ah(&domain, &wanted)));
  const int error = errno;
  if (made) {
    known_[key] = {made, 0};
  } else if (error != ENOMEM) {
    known_[key].not_before = milliseconds() + kPause;
  }
  errno = error;
  return made;
}

void AddressHandles::clean(std::uint64_t now) {
  if (known_.size() < clean_at_) return;
  std::erase_if(known_,
                [&](const auto& entry) { return entry.second.handle.expired() && now >= entry.second.not_before; });
  clean_at_ = 2 * known_.size() + 64;
}

}  // namespace openlapi::verbs
