// The fixed part of one record - header, body and extension - built on the stack.
#pragma once

#include <array>
#include <cstddef>
#include <cstring>

#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

class RecordBytes {
 public:
  template <typename Body>
  RecordBytes(wire::RecordKind kind, const Body& body) {
    set(offsetof(wire::RecordHeader, kind), static_cast<std::uint8_t>(kind));
    append(body);
  }

  RecordBytes& user_header_length(std::uint32_t bytes) {
    return set(offsetof(wire::RecordHeader, user_header_length), static_cast<std::uint16_t>(bytes));
  }
  RecordBytes& payload_length(std::uint64_t bytes) {
    return set(offsetof(wire::RecordHeader, payload_length), static_cast<std::uint32_t>(bytes));
  }
  RecordBytes& flags(std::uint8_t flags) { return set(offsetof(wire::RecordHeader, flags), flags); }
  // The message has further fragments.
  RecordBytes& extend(const wire::LongExtension& extension, std::uint8_t flags) {
    append(extension);
    return this->flags(flags);
  }

  ConstBuffer piece() const { return {bytes_.data(), length_}; }
  std::uint32_t length() const { return length_; }

 private:
  template <typename Part>
  void append(const Part& part) {
    std::memcpy(bytes_.data() + length_, &part, sizeof(Part));
    length_ += sizeof(Part);
  }
  // Sets a field of the header that is still unset. The header is written as one word, since a copy word by word would
  // have to wait for narrower stores.
  template <typename Field>
  RecordBytes& set(std::size_t offset, Field field) {
    header_ |= std::uint64_t{field} << (8 * offset);
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return *this;
  }

  std::uint64_t header_ = 0;  // little-endian, as on the wire
  std::uint32_t length_ = sizeof(wire::RecordHeader);
  alignas(8) std::array<std::byte, wire::kLongestFixedPart> bytes_;
};
static_assert(sizeof(wire::RecordHeader) == sizeof(std::uint64_t));

}  // namespace openlapi
