#include "tests/simulation/task_memory.h"

#include <algorithm>

#include "tests/simulation/byte_pattern.h"
#include "tests/support/seeded_random.h"

namespace openlapi::simulation {

namespace {

constexpr std::size_t kGuardBytes = 24;  // between neighbours

}  // namespace

TaskMemory::TaskMemory(std::size_t bytes, std::uint64_t key)
    : bytes_(bytes), key_(key), memory_(std::make_unique_for_overwrite<std::byte[]>(bytes)) {
  renew();
}

void TaskMemory::renew() {
  key_ = mix_bits(key_ + 1);
  used_ = kGuardBytes;
  regions_.clear();
  fill_pattern({memory_.get(), bytes_}, key_);
}

std::span<std::byte> TaskMemory::take(std::size_t bytes, std::size_t alignment) {
  const std::size_t begin = (used_ + alignment - 1) / alignment * alignment;
  if (begin + bytes + kGuardBytes > bytes_) return {};
  regions_.push_back({begin, begin + bytes});
  used_ = begin + bytes + kGuardBytes;
  return {memory_.get() + begin, bytes};
}

void TaskMemory::open_only(const std::vector<DataRun>& runs) {
  const std::size_t begin = regions_.back().begin;
  regions_.pop_back();
  const auto first = static_cast<std::ptrdiff_t>(regions_.size());
  for (const DataRun& run : runs) regions_.push_back({begin + run.offset, begin + run.offset + run.length});
  std::sort(regions_.begin() + first, regions_.end(), [](Region a, Region b) { return a.begin < b.begin; });
}

std::byte TaskMemory::guard_at(const std::byte* address) const {
  return pattern_byte(key_, static_cast<std::uint64_t>(address - memory_.get()));
}

bool TaskMemory::guards_hold(std::string& where) const {
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= regions_.size(); ++i) {
    const std::size_t end = i < regions_.size() ? regions_[i].begin : bytes_;
    const std::size_t good = matching_bytes({memory_.get() + begin, end - begin}, key_, begin);
    if (good != end - begin) {
      where = "byte " + std::to_string(begin + good) + " of the memory, " + std::to_string(good) +
              " bytes behind region " + std::to_string(i) + " of " + std::to_string(regions_.size());
      return false;
    }
    if (i < regions_.size()) begin = regions_[i].end;
  }
  return true;
}

}  // namespace openlapi::simulation
