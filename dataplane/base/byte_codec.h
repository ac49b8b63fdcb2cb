// How processes write numbers, texts and bytes into messages: little-endian. A number of a width that is not named has
// 4 bytes, a wide number 8; before a text or bytes that are counted goes their length, a number.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/little_endian.h"

namespace openlapi {

template <class Number>
std::array<std::uint8_t, sizeof(Number)> little_bytes(Number number) {
  std::array<std::uint8_t, sizeof(Number)> bytes{};
  store_little(reinterpret_cast<std::byte*>(bytes.data()), number);
  return bytes;
}

// Of the number's own width. Byte by byte: g++ 12 warns of an overflow, which there is not, when several are inserted
// at once.
template <class Byte, class Number>
void append_little(std::vector<Byte>& bytes, Number number) {
  for (const std::uint8_t byte : little_bytes(number)) bytes.push_back(Byte{byte});
}
inline void append_number(std::vector<std::uint8_t>& bytes, std::uint32_t number) { append_little(bytes, number); }
inline void append_number(std::vector<std::uint8_t>& bytes, int number) {
  append_number(bytes, static_cast<std::uint32_t>(number));
}
inline void append_wide(std::vector<std::uint8_t>& bytes, std::uint64_t number) { append_little(bytes, number); }
inline void append_counted(std::vector<std::uint8_t>& bytes, std::span<const std::uint8_t> more) {
  append_number(bytes, static_cast<std::uint32_t>(more.size()));
  bytes.insert(bytes.end(), more.begin(), more.end());
}
inline void append_text(std::vector<std::uint8_t>& bytes, std::string_view text) {
  append_counted(bytes, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
}

// Once there were too few bytes, or after fail(), failed() is true and everything that is read is 0 or empty.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  explicit ByteReader(std::span<const std::byte> bytes)
      : bytes_(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()) {}

  // Of this width.
  template <class Number>
  Number little() {
    const auto taken = take(sizeof(Number));
    return taken.empty() ? Number{0} : load_little<Number>(reinterpret_cast<const std::byte*>(taken.data()));
  }
  std::uint8_t byte() { return little<std::uint8_t>(); }
  std::uint32_t number() { return little<std::uint32_t>(); }
  std::uint64_t wide() { return little<std::uint64_t>(); }
  int integer() { return static_cast<int>(number()); }
  // The number of elements that follow, of at least `least` bytes each. One that the bytes left cannot hold fails, so
  // that nobody reserves memory for it.
  std::uint32_t count(std::size_t least) {
    const std::uint32_t value = number();
    failed_ = failed_ || value > bytes_.size() / least;
    return failed_ ? 0 : value;
  }
  std::span<const std::uint8_t> take(std::size_t count) {
    failed_ = failed_ || count > bytes_.size();
    if (failed_) return {};
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }
  std::string text() {
    const auto taken = take(number());
    return {taken.begin(), taken.end()};
  }
  std::size_t left() const { return bytes_.size(); }
  void fail() { failed_ = true; }
  bool failed() const { return failed_; }

 private:
  std::span<const std::uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace openlapi
