// What a fuzzer's input has not been asked for yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace openlapi {

class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size) : rest_(data, size) {}

  bool empty() const { return rest_.empty(); }

  // Of a number that the input ends inside of the missing bytes are 0.
  template <typename Number = std::uint8_t>
  Number take() {
    Number value = 0;
    const std::span<const std::uint8_t> bytes = next(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  std::vector<std::byte> take_bytes(std::size_t most) {
    const std::span<const std::byte> bytes = std::as_bytes(next(most));
    return {bytes.begin(), bytes.end()};
  }

 private:
  std::span<const std::uint8_t> next(std::size_t most) {
    const auto bytes = rest_.first(std::min(most, rest_.size()));
    rest_ = rest_.subspan(bytes.size());
    return bytes;
  }

  std::span<const std::uint8_t> rest_;
};

}  // namespace openlapi
