#include "nic/verbs/registration_cache.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>

#include "dataplane/base/check.h"

namespace openlapi::verbs {

RegistrationCache::RegistrationCache(Registrar& registrar, MemoryMonitor* monitor, const Limits& limits)
    : registrar_(registrar),
      monitor_(monitor),
      limits_(limits),
      page_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))) {
  if (monitor != nullptr) reader_.emplace(monitor->changes());
}

// Who still uses an entry loses the adapter as well.
RegistrationCache::~RegistrationCache() {
  for (Entry& entry : all_) {
    if (!entry.on_demand && (entry.listed || entry.uses != 0)) deregister(entry);
    if (entry.listed) monitor_->unwatch(entry.watched);
  }
}

RegistrationCache::Entry* RegistrationCache::acquire(const void* address, std::size_t length, bool writable) {
  settle();
  const std::uint64_t start = reinterpret_cast<std::uintptr_t>(address);
  if (length == 0 || length > UINTPTR_MAX - page_ || start > UINTPTR_MAX - page_ - length) return nullptr;
  const std::uint64_t begin = start & ~(page_ - 1);
  const std::uint64_t end = (start + length + page_ - 1) & ~(page_ - 1);
  if (Entry* const found = lookup(begin, end, writable)) [[likely]] {
    ++counters_.hits;
    if (found->uses++ == 0) found->pinned.use();
    found->last_use = ++uses_;
    return found;
  }
  ++counters_.misses;
  return make(begin, end, writable);
}

RegistrationCache::Entry* RegistrationCache::acquire_current(const void* address, std::size_t length, bool writable) {
  constexpr int kTries = 8;  // the memory changes all the time: somebody else is at work there
  for (int i = 0; i < kTries; ++i) {
    Entry* const entry = acquire(address, length, writable);
    if (entry == nullptr) return nullptr;
    if (entry->listed) {
      while (!monitor_->settled()) sched_yield();
    }
    settle();
    if (!entry->changed) return entry;
    release(*entry);
  }
  return nullptr;
}

void RegistrationCache::release(Entry& entry) {
  OPENLAPI_CHECK(entry.uses != 0);
  if (--entry.uses == 0) entry.pinned.rest();
  drop_if_unused(entry);
  while (bytes_ > limits_.bytes || entries_ > limits_.entries) {
    if (evict_one() == 0) break;
  }
}

RegistrationCache::Entry* RegistrationCache::find(std::uint32_t number, std::uint32_t generation) {
  if (number >= all_.size() || all_[number].uses == 0 || all_[number].generation != generation) return nullptr;
  return &all_[number];
}

// The first listed place that begins after `address`. Without branches that depend on addresses.
std::size_t RegistrationCache::first_place_after(std::uint64_t address) const {
  std::size_t first = 0;
  for (std::size_t count = begins_.size(); count != 0;) {
    const std::size_t half = (count + 1) / 2;
    first += begins_[first + half - 1] <= address ? half : 0;
    count -= half;
  }
  return first;
}

RegistrationCache::Entry* RegistrationCache::lookup(std::uint64_t begin, std::uint64_t end, bool writable) {
  const std::size_t next = first_place_after(begin);
  if (next == 0 || places_[next - 1].end < end) return nullptr;
  Entry* const entry = places_[next - 1].entry;
  return entry->writable || !writable ? entry : nullptr;
}

// The memory is watched before the adapter takes the pages, and the changes since then are looked at when the entry is
// listed already: none is missed.
RegistrationCache::Entry* RegistrationCache::make(std::uint64_t begin, std::uint64_t end, bool writable) {
  const PageRange watched = monitor_ != nullptr ? monitor_->watch(begin, end) : PageRange{};
  Entry& entry = new_entry();
  entry.begin = begin;
  entry.end = end;
  entry.writable = true;
  if (!watched && use_whole_memory(entry, writable)) return &entry;
  Registrar::Outcome outcome = register_range(entry, writable);
  if (outcome != Registrar::Outcome::done && !writable) {  // memory that can only be read
    entry.writable = false;
    outcome = register_range(entry, writable);
  }
  if (outcome != Registrar::Outcome::done || entry.on_demand) {
    if (watched) monitor_->unwatch(watched);
    if (entry.on_demand) return &entry;
    free_.push_back(entry.number);
    ++counters_.refused;
    return nullptr;
  }
  entry.pinned.begin(begin, end);
  ++entries_;
  bytes_ += end - begin;
  entry.uses = 1;
  if (watched) {
    entry.watched = watched;
    list(entry);
    settle();
  } else {
    ++counters_.unwatched;
  }
  while (bytes_ > limits_.bytes || entries_ > limits_.entries) {
    if (evict_one() == 0) break;
  }
  return &entry;
}

// Others do not leave for what has no room without them either, if it can be used in the region of all memory.
Registrar::Outcome RegistrationCache::register_range(Entry& entry, bool writable) {
  const std::uint64_t length = entry.end - entry.begin;
  for (bool evicted = false;; evicted = true) {
    const Registrar::Outcome outcome = registrar_.add(entry.begin, entry.end, entry.writable, entry.region);
    if (outcome != Registrar::Outcome::no_room) return outcome;
    const bool hopeless = evicted || length > bytes_;
    if (hopeless && use_whole_memory(entry, writable)) return Registrar::Outcome::done;
    std::uint64_t freed = 0;
    while (freed < length) {
      const std::uint64_t bytes = evict_one();
      if (bytes == 0) break;
      freed += bytes;
    }
    if (freed == 0) return use_whole_memory(entry, writable) ? Registrar::Outcome::done : outcome;
  }
}

// Nothing of it is pinned or kept.
bool RegistrationCache::use_whole_memory(Entry& entry, bool writable) {
  if (!registrar_.whole_memory(entry.begin, entry.end, writable, entry.region)) return false;
  entry.on_demand = true;
  entry.uses = 1;
  ++counters_.on_demand;
  return true;
}

RegistrationCache::Entry& RegistrationCache::new_entry() {
  if (free_.empty()) {
    all_.emplace_back();
    all_.back().number = static_cast<std::uint32_t>(all_.size() - 1);
    return all_.back();
  }
  Entry& entry = all_[free_.back()];
  free_.pop_back();
  entry.changed = entry.moved = false;
  entry.on_demand = false;
  ++entry.generation;
  return entry;
}

void RegistrationCache::list(Entry& entry) {
  // Those within it go, and the one that covers it but cannot be written.
  std::size_t first = first_place_after(entry.begin);
  if (first != 0 && (begins_[first - 1] == entry.begin || places_[first - 1].end >= entry.end)) --first;
  while (first < places_.size() && (places_[first].end <= entry.end || begins_[first] <= entry.begin)) {
    unlist(*places_[first].entry);
  }
  const auto offset = static_cast<std::ptrdiff_t>(first);
  begins_.insert(begins_.begin() + offset, entry.begin);
  places_.insert(places_.begin() + offset, {entry.end, &entry});
  entry.listed = true;
  entry.last_use = ++uses_;
}

void RegistrationCache::unlist(Entry& entry) {
  const auto offset = static_cast<std::ptrdiff_t>(first_place_after(entry.begin)) - 1;
  begins_.erase(begins_.begin() + offset);
  places_.erase(places_.begin() + offset);
  entry.listed = false;
  monitor_->unwatch(entry.watched);
  drop_if_unused(entry);
}

void RegistrationCache::drop_if_unused(Entry& entry) {
  if (entry.listed || entry.uses != 0) return;
  free_.push_back(entry.number);
  if (entry.on_demand) return;
  deregister(entry);
  bytes_ -= entry.end - entry.begin;
  --entries_;
}

void RegistrationCache::deregister(Entry& entry) {
  entry.pinned.end();
  registrar_.remove(entry.region);
}

// The least recently used entry that is idle leaves. Returns its bytes; 0: there is none.
std::uint64_t RegistrationCache::evict_one() {
  Entry* oldest = nullptr;
  for (const Place& place : places_) {
    if (place.entry->uses == 0 && (oldest == nullptr || place.entry->last_use < oldest->last_use)) oldest = place.entry;
  }
  if (oldest == nullptr) return 0;
  ++counters_.evicted;
  unlist(*oldest);
  return oldest->end - oldest->begin;
}

void RegistrationCache::take_changes() {
  const auto wait = [] { sched_yield(); };
  if (reader_) reader_->take(wait, [&](std::uint64_t begin, std::uint64_t end, bool) { invalidate(begin, end); });
  moves_.take(wait, [&](std::uint64_t begin, std::uint64_t end, bool) {
    mark_moved(begin, end);
    invalidate(begin, end);
  });
}

// Also what is not listed. Adapters that page on demand are told by the kernel.
void RegistrationCache::mark_moved(std::uint64_t begin, std::uint64_t end) {
  for (Entry& entry : all_) {
    if (entry.uses == 0 || entry.on_demand || entry.end <= begin || entry.begin >= end) continue;
    entry.changed = entry.moved = true;
  }
}

void RegistrationCache::invalidate(std::uint64_t begin, std::uint64_t end) {
  const auto before = [](const Place& one, std::uint64_t address) { return one.end <= address; };
  const auto first =
      static_cast<std::size_t>(std::lower_bound(places_.begin(), places_.end(), begin, before) - places_.begin());
  while (first < places_.size() && begins_[first] < end) {
    Entry& entry = *places_[first].entry;
    entry.changed = true;
    ++counters_.invalidated;
    unlist(entry);
  }
}

}  // namespace openlapi::verbs
