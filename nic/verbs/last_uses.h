// Which of many queue pairs was used least lately.
#pragma once

#include <array>
#include <cstdint>

namespace openlapi::verbs {

// When queue pairs were last used, counted in uses of all of them. Queue pairs whose numbers share a place in the table
// count as used together.
class LastUses {
 public:
  void note(std::uint32_t queue_pair) { times_[queue_pair % kPlaces] = ++uses_; }
  std::uint64_t of(std::uint32_t queue_pair) const { return times_[queue_pair % kPlaces]; }

 private:
  static constexpr std::uint32_t kPlaces = 1024;  // adapters number their queue pairs consecutively
  std::uint64_t uses_ = 0;
  std::array<std::uint64_t, kPlaces> times_{};
};

}  // namespace openlapi::verbs
