#include "nic/verbs/address_handles.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/monotonic_time.h"

namespace openlapi::verbs {
namespace {

constexpr std::uint64_t kPause = 10'000;  // milliseconds

}  // namespace

AddressHandles::Found AddressHandles::find_or_make(const Wish& wish) {
  const CancellationOff off;
  clean(wish.now);
  Entry& entry = known_[key_of(wish)];
  if (wish.anew) forget(entry);
  if (entry.making) {
    if (!entry.making->call.over()) return {{}, EINPROGRESS};
    if (const int error = take(entry); error != 0) return {{}, error};
  }
  if (wish.now >= entry.ready_until) entry.ready.reset();
  auto handle = entry.handle.lock();
  entry.ready.reset();
  if (handle) return {std::move(handle)};
  if (wish.now < entry.not_before) return {{}, EHOSTUNREACH};
  return make(wish, entry);
}

AddressHandles::Key AddressHandles::key_of(const Wish& wish) {
  const ibv_ah_attr& route = wish.route;
  Gid gid{};
  if (route.is_global != 0) std::copy_n(route.grh.dgid.raw, gid.size(), gid.begin());
  return {gid, route.dlid, route.is_global != 0, wish.moves};
}

// Also what is being made: whoever asks next shall not get the neighbour of now.
void AddressHandles::forget(Entry& entry) {
  entry.handle.reset();
  entry.ready.reset();
  if (entry.making) entry.making->is_outdated = true;
}

AddressHandles::Found AddressHandles::make(const Wish& wish, Entry& entry) {
  if (looks_for_neighbours_) {
    if (in_making_ == kMostInMaking) take_finished();
    if (in_making_ == kMostInMaking) return {{}, EINPROGRESS};
  }
  const bool by_thread = looks_for_neighbours_ && begin(wish, entry);
  if (by_thread && !entry.making->call.over_within(kPatience)) return {{}, EINPROGRESS};
  const int error = by_thread ? take(entry) : keep(entry, make_now(*domain_, wish.route));
  return {std::exchange(entry.ready, nullptr), error};
}

// False: there is no thread for it.
bool AddressHandles::begin(const Wish& wish, Entry& entry) {
  entry.making = std::unique_ptr<Making>(new Making{*domain_, wish.route});  // an aggregate
  Making& making = *entry.making;
  if (!making.call.begin([&making] { making.made = make_now(making.domain, making.route); })) {
    entry.making.reset();
    return false;
  }
  ++in_making_;
  return true;
}

AddressHandles::Made AddressHandles::make_now(ibv_pd& domain, const ibv_ah_attr& route) {
  ibv_ah_attr wanted = route;
  AddressHandle handle(ibv_create_ah(&domain, &wanted));
  const int error = handle ? 0 : errno;
  try {
    return {std::move(handle), error, milliseconds()};
  } catch (const std::bad_alloc&) {  // of what counts its owners
    return {{}, ENOMEM, milliseconds()};
  }
}

// Of a call that is over. Returns the error; 0 also where the handle came too late.
int AddressHandles::take(Entry& entry) {
  const std::unique_ptr<Making> making = std::move(entry.making);
  --in_making_;
  if (making->is_outdated) making->made.handle.reset();
  return keep(entry, std::move(making->made));
}

// Until it is asked for. A want of memory is not the neighbour's: others may ask at once.
int AddressHandles::keep(Entry& entry, Made made) {
  if (made.handle) {
    entry.handle = made.handle;
    entry.ready = std::move(made.handle);
    entry.ready_until = made.ended + kPause;
    entry.not_before = 0;
  } else if (made.error != 0 && made.error != ENOMEM) {
    entry.not_before = made.ended + kPause;
  }
  return made.error;
}

// Others need the threads.
void AddressHandles::take_finished() {
  for (auto& [key, entry] : known_) {
    if (entry.making && entry.making->call.over()) take(entry);
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

void RetiredHandles::add(std::shared_ptr<ibv_ah> handle, const SendRing& sends) {
  std::erase_if(retired_, [&](const Retired& old) { return sends.is_done(old.last_send); });
  if (handle && sends.next() != 0) retired_.push_back({std::move(handle), sends.next() - 1});
}

}  // namespace openlapi::verbs
