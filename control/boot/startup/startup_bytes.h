// Numbers and texts in messages: little-endian, 4 bytes a number, a text behind its length.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace openlapi::boot {

inline void append_number(std::vector<std::uint8_t>& bytes, std::uint32_t number) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(number >> shift));
}
inline void append_number(std::vector<std::uint8_t>& bytes, int number) {
  append_number(bytes, static_cast<std::uint32_t>(number));
}
inline void append_text(std::vector<std::uint8_t>& bytes, std::string_view text) {
  append_number(bytes, static_cast<std::uint32_t>(text.size()));
  bytes.insert(bytes.end(), text.begin(), text.end());
}

// After too few bytes: 0 or nothing, and failed().
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  std::uint32_t number() {
    const auto four = take(4);
    std::uint32_t value = 0;
    for (std::size_t n = four.size(); n-- > 0;) value = value << 8 | four[n];
    return value;
  }
  int integer() { return static_cast<int>(number()); }
  // What follows a number has at least `least` bytes for each: a number that the bytes cannot hold reserves no memory.
  std::uint32_t count(std::size_t least) {
    const std::uint32_t value = number();
    failed_ = failed_ || value > bytes_.size() / least;
    return failed_ ? 0 : value;
  }
  std::span<const std::uint8_t> take(std::size_t count) {
    if (count > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::string text() {
    const auto taken = take(number());
    return {taken.begin(), taken.end()};
  }
  std::size_t left() const { return bytes_.size(); }
  bool failed() const { return failed_; }

 private:
  std::span<const std::uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace openlapi::boot
