#include "dataplane/message/request_table.h"

#include <utility>

#include "dataplane/base/check.h"

namespace openlapi {

std::uint32_t RequestTable::take_slot() {
  if (free_ != kNone) {
    const std::uint32_t index = free_;
    free_ = slots_[index].younger;
    return index;
  }
  OPENLAPI_CHECK(slots_.size() < (std::size_t{1} << kIndexBits));
  slots_.emplace_back().generation = first_generation_;
  return static_cast<std::uint32_t>(slots_.size() - 1);
}

std::uint32_t RequestTable::add(PendingRequest request) {
  const std::uint32_t index = take_slot();
  Slot& slot = slots_[index];
  slot.request = std::move(request);
  slot.serial = ++last_serial_;
  slot.used = true;
  slot.older = youngest_;
  slot.younger = kNone;
  if (youngest_ != kNone) slots_[youngest_].younger = index;
  youngest_ = index;
  if (oldest_ == kNone) oldest_ = index;
  ++size_;
  return index | slot.generation << kIndexBits;
}

PendingRequest* RequestTable::find(std::uint32_t id) {
  const std::uint32_t index = id & ((1u << kIndexBits) - 1);
  if (index >= slots_.size()) return nullptr;
  Slot& slot = slots_[index];
  return slot.used && slot.generation == id >> kIndexBits ? &slot.request : nullptr;
}

void RequestTable::unlink(std::uint32_t index) {
  Slot& slot = slots_[index];
  (slot.older == kNone ? oldest_ : slots_[slot.older].younger) = slot.younger;
  (slot.younger == kNone ? youngest_ : slots_[slot.younger].older) = slot.older;
  slot.used = false;
  slot.request.layout.reset();
  slot.generation = (slot.generation + 1) & kGenerations;
  slot.younger = free_;
  free_ = index;
  --size_;
}

void RequestTable::remove(std::uint32_t id) {
  if (find(id) != nullptr) unlink(id & ((1u << kIndexBits) - 1));
}

std::uint64_t RequestTable::oldest_serial() const { return oldest_ == kNone ? UINT64_MAX : slots_[oldest_].serial; }

}  // namespace openlapi
