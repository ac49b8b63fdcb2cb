// The fields of a control message: little-endian numbers of 4 and 8 bytes, single bytes, and texts and many
// bytes with their length before them. A
// message describes its fields once, to a writer or to a reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

namespace openlapi::daemon {

using MessageBytes = std::vector<std::uint8_t>;

inline constexpr std::size_t kLongestText = 4096;

class FieldWriter {
 public:
  explicit FieldWriter(MessageBytes& bytes) : bytes_(bytes) {}

  void byte(std::uint8_t value) { bytes_.push_back(value); }
  void number(std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) bytes_.push_back(static_cast<std::uint8_t>(value >> shift));
  }
  void wide(std::uint64_t value) {
    number(static_cast<std::uint32_t>(value));
    number(static_cast<std::uint32_t>(value >> 32));
  }
  void bytes(const MessageBytes& value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  void text(const std::string& value) {
    const std::size_t length = value.size() < kLongestText ? value.size() : kLongestText;
    number(static_cast<std::uint32_t>(length));
    bytes_.insert(bytes_.end(), value.begin(), value.begin() + static_cast<std::ptrdiff_t>(length));
  }
  template <typename Element, typename Each>
  void list(const std::vector<Element>& values, std::size_t /*least_bytes*/, Each&& each) {
    number(static_cast<std::uint32_t>(values.size()));
    for (const Element& value : values) each(*this, value);
  }

 private:
  MessageBytes& bytes_;
};

// After the first impossible value everything is zero and empty, and complete() is false.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

  bool complete() const { return !failed_ && bytes_.empty(); }

  void byte(std::uint8_t& value) {
    const auto from = take(1);
    value = failed_ ? std::uint8_t{0} : from[0];
  }
  void number(std::uint32_t& value) {
    const auto from = take(4);
    value = 0;
    for (std::size_t n = 0; n < from.size(); ++n) value |= static_cast<std::uint32_t>(from[n]) << (8 * n);
  }
  void wide(std::uint64_t& value) {
    std::uint32_t low = 0, high = 0;
    number(low);
    number(high);
    value = static_cast<std::uint64_t>(high) << 32 | low;
  }
  // As long as the message has them: the stream bounds a message.
  void bytes(MessageBytes& value) {
    std::uint32_t length = 0;
    number(length);
    const auto from = take(length);
    value.assign(from.begin(), from.end());
  }
  void text(std::string& value) {
    std::uint32_t length = 0;
    number(length);
    if (length > kLongestText) failed_ = true;
    const auto from = take(length);
    if (!from.empty() && std::memchr(from.data(), 0, from.size()) != nullptr) failed_ = true;
    value.assign(from.begin(), from.end());
  }
  // `least_bytes`: of an element; a count that the bytes cannot hold must not reserve memory.
  template <typename Element, typename Each>
  void list(std::vector<Element>& values, std::size_t least_bytes, Each&& each) {
    std::uint32_t count = 0;
    number(count);
    if (count > bytes_.size() / least_bytes) failed_ = true;
    values.resize(failed_ ? 0 : count);
    for (Element& value : values) each(*this, value);
  }

 private:
  std::span<const std::uint8_t> take(std::size_t count) {
    if (failed_ || count > bytes_.size()) {
      failed_ = true;
      return {};
    }
    const auto taken = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return taken;
  }

  std::span<const std::uint8_t> bytes_;
  bool failed_ = false;
};

}  // namespace openlapi::daemon
