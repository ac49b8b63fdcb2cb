#include "nic/verbs/address_handles.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kPause = 10'000;  // milliseconds

}  // namespace

using Made = HandleInMaking::Made;

AddressHandles::Key AddressHandles::key_of(const Wish& wish) {
  const ibv_ah_attr& route = wish.route;
  Gid gid{};
  if (route.is_global != 0) std::copy_n(route.grh.dgid.raw, gid.size(), gid.begin());
  return {gid, route.dlid, route.is_global != 0, wish.moves};
}

Made AddressHandles::find_or_make(ibv_pd& domain, const Wish& wish) {
  const std::uint64_t now = milliseconds();
  clean(now);
  Entry& entry = known_[key_of(wish)];
  if (entry.making) return entry.making->wait(0) ? take(entry) : Made{{}, EINPROGRESS};
  auto handle = entry.handle.lock();
  if (handle && !wish.anew) return {std::move(handle), 0};
  if (now < entry.not_before) return {{}, EHOSTUNREACH};
  return make(domain, wish, entry);
}

// By this thread, where there is no other one to be had.
Made AddressHandles::make(ibv_pd& domain, const Wish& wish, Entry& entry) {
  if (wish.patience != kAsLongAsItTakes) {
    if (in_making_ == kMostInMaking) take_abandoned();
    if (in_making_ == kMostInMaking) return {{}, EINPROGRESS};
    entry.making = HandleInMaking::begin(domain, wish.route);
  }
  if (!entry.making) return note(entry, make_handle(domain, wish.route));
  ++in_making_;
  return entry.making->wait(wish.patience) ? take(entry) : Made{{}, EINPROGRESS};
}

Made AddressHandles::take(Entry& entry) {
  Made made = entry.making->take();
  entry.making.reset();
  --in_making_;
  return note(entry, std::move(made));
}

Made AddressHandles::note(Entry& entry, Made made) {
  if (made.handle) {
    entry.handle = made.handle;
    entry.not_before = 0;
  } else if (made.error != ENOMEM) {
    entry.not_before = milliseconds() + kPause;
  }
  return made;
}

// What nobody has asked for again.
void AddressHandles::take_abandoned() {
  for (auto& [key, entry] : known_) {
    if (entry.making && entry.making->wait(0)) take(entry);
  }
}

void AddressHandles::clean(std::uint64_t now) {
  if (known_.size() < clean_at_) return;
  take_abandoned();
  std::erase_if(known_, [&](const auto& known) {
    const Entry& entry = known.second;
    return entry.handle.expired() && now >= entry.not_before && !entry.making;
  });
  clean_at_ = 2 * known_.size() + 64;
}

}  // namespace openlapi::verbs
