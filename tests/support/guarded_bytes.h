// Memory with bytes around it that nobody may write.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace openlapi {

class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t length) : bytes_(length + 2 * kMargin, kMark) {}
  std::byte* data() { return bytes_.data() + kMargin; }
  std::size_t size() const { return bytes_.size() - 2 * kMargin; }
  bool intact() const {
    const auto marked = [](std::byte byte) { return byte == kMark; };
    return std::all_of(bytes_.begin(), bytes_.begin() + kMargin, marked) &&
           std::all_of(bytes_.end() - kMargin, bytes_.end(), marked);
  }

 private:
  static constexpr std::ptrdiff_t kMargin = 256;
  static constexpr std::byte kMark{0xe7};
  std::vector<std::byte> bytes_;
};

}  // namespace openlapi
