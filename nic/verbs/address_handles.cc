#include "nic/verbs/address_handles.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kPause = 10'000;  // milliseconds; a peer that is sent something asks again much sooner

}  // namespace

using Found = AddressHandles::Found;
using Made = HandleInMaking::Made;

AddressHandles::Key AddressHandles::key_of(const Wish& wish) {
  const ibv_ah_attr& route = wish.route;
  Gid gid{};
  if (route.is_global != 0) std::copy_n(route.grh.dgid.raw, gid.size(), gid.begin());
  return {gid, route.dlid, route.is_global != 0, wish.moves};
}

Found AddressHandles::find_or_make(ibv_pd& domain, const Wish& wish) {
  clean(wish.now);
  Entry& entry = known_[key_of(wish)];
  if (wish.anew) forget(entry);
  if (entry.making) {
    if (!entry.making->wait(0)) return {{}, EINPROGRESS};
    const int error = take(entry);
    if (error == ENOMEM || (error != 0 && wish.now < entry.not_before)) return refuse(entry, wish, error);
  }
  if (wish.now >= entry.ready_until) entry.ready.reset();
  auto handle = entry.handle.lock();
  entry.ready.reset();
  if (handle) return {std::move(handle)};
  if (wish.now < entry.not_before) return refuse(entry, wish, EHOSTUNREACH);
  return make(domain, wish, entry);
}

// Also what cannot be made at once: whoever asks next shall not get the present one.
void AddressHandles::forget(Entry& entry) {
  entry.handle.reset();
  entry.ready.reset();
  entry.outdated = entry.making != nullptr;
}

// By this thread, where there is no other one to be had.
Found AddressHandles::make(ibv_pd& domain, const Wish& wish, Entry& entry) {
  if (wish.patience != kAsLongAsItTakes) {
    if (in_making_ == kMostInMaking) take_finished();
    if (in_making_ == kMostInMaking) return {{}, EINPROGRESS};
    entry.making = HandleInMaking::begin(domain, wish.route);
  }
  if (entry.making) {
    ++in_making_;
    if (!entry.making->wait(wish.patience)) return {{}, EINPROGRESS};
  }
  const int error = entry.making ? take(entry) : keep(entry, make_handle(domain, wish.route));
  if (error != 0) return refuse(entry, wish, error);
  return {std::exchange(entry.ready, nullptr)};
}

// A want of memory is not the neighbour's: others may ask at once.
Found AddressHandles::refuse(Entry& entry, const Wish& wish, int error) {
  const std::uint64_t not_before = error == ENOMEM ? wish.now + kPause : entry.not_before;
  return {{}, error, not_before, wish.tells && std::exchange(entry.untold, false)};
}

int AddressHandles::take(Entry& entry) {
  Made made = entry.making->take();
  entry.making.reset();
  --in_making_;
  if (std::exchange(entry.outdated, false)) made.handle.reset();
  return keep(entry, std::move(made));
}

// Until it is asked for. Returns the error.
int AddressHandles::keep(Entry& entry, Made made) {
  if (made.handle) {
    entry.handle = made.handle;
    entry.ready = std::move(made.handle);
    entry.ready_until = made.ended + kPause;
    entry.not_before = 0;
  } else if (made.error != 0) {
    entry.untold = true;
    if (made.error != ENOMEM) entry.not_before = made.ended + kPause;
  }
  return made.error;
}

// Others need the threads.
void AddressHandles::take_finished() {
  for (auto& [key, entry] : known_) {
    if (entry.making && entry.making->wait(0)) take(entry);
  }
}

void AddressHandles::clean(std::uint64_t now) {
  if (known_.size() < clean_at_) return;
  take_finished();
  for (auto& [key, entry] : known_) {
    if (now >= entry.ready_until) entry.ready.reset();
  }
  std::erase_if(known_, [&](const auto& known) {
    const Entry& entry = known.second;
    return entry.handle.expired() && now >= entry.not_before && !entry.making;
  });
  clean_at_ = 2 * known_.size() + 64;
}

}  // namespace openlapi::verbs
