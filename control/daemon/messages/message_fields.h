// The fields of a control message (byte_codec.h). A message describes its fields once, to a writer or to a reader.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dataplane/base/byte_codec.h"

namespace openlapi::daemon {

using MessageBytes = std::vector<std::uint8_t>;

inline constexpr std::size_t kLongestText = 4096;

class FieldWriter {
 public:
  explicit FieldWriter(MessageBytes& bytes) : bytes_(bytes) {}

  void byte(std::uint8_t value) { bytes_.push_back(value); }
  void number(std::uint32_t value) { append_number(bytes_, value); }
  void wide(std::uint64_t value) { append_wide(bytes_, value); }
  void bytes(const MessageBytes& value) { append_counted(bytes_, value); }
  void text(const std::string& value) { append_text(bytes_, std::string_view(value).substr(0, kLongestText)); }
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
  explicit FieldReader(std::span<const std::uint8_t> bytes) : reader_(bytes) {}

  bool complete() const { return !reader_.failed() && reader_.left() == 0; }

  void byte(std::uint8_t& value) { value = reader_.byte(); }
  void number(std::uint32_t& value) { value = reader_.number(); }
  void wide(std::uint64_t& value) { value = reader_.wide(); }
  // As long as the message has them: the stream bounds a message.
  void bytes(MessageBytes& value) {
    const auto from = reader_.take(reader_.number());
    value.assign(from.begin(), from.end());
  }
  void text(std::string& value) {
    const std::uint32_t length = reader_.number();
    if (length > kLongestText) reader_.fail();
    const auto from = reader_.take(length);
    if (!from.empty() && std::memchr(from.data(), 0, from.size()) != nullptr) reader_.fail();
    value.assign(from.begin(), from.end());
  }
  // `least_bytes`: of an element.
  template <typename Element, typename Each>
  void list(std::vector<Element>& values, std::size_t least_bytes, Each&& each) {
    values.resize(reader_.count(least_bytes));
    for (Element& value : values) each(*this, value);
  }

 private:
  ByteReader reader_;
};

}  // namespace openlapi::daemon
