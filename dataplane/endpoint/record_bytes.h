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
    append(wire::RecordHeader{
        .kind = static_cast<std::uint8_t>(kind), .flags = 0, .user_header_length = 0, .payload_length = 0});
    append(body);
  }

  RecordBytes& user_header_length(std::uint32_t bytes) {
    return write(offsetof(wire::RecordHeader, user_header_length), static_cast<std::uint16_t>(bytes));
  }
  RecordBytes& payload_length(std::uint64_t bytes) {
    return write(offsetof(wire::RecordHeader, payload_length), static_cast<std::uint32_t>(bytes));
  }
  RecordBytes& flags(std::uint8_t flags) { return write(offsetof(wire::RecordHeader, flags), flags); }
  // A message with further fragments.
  RecordBytes& extend(const wire::LongExtension& extension, std::uint8_t flags) {
    append(extension);
    return this->flags(flags);
  }

  // Behind the extension of a message that the adapter reads.
  RecordBytes& key(const wire::BulkKey& key) {
    append(key);
    return *this;
  }

  ConstBuffer piece() const { return {bytes_.data(), length_}; }
  std::uint32_t length() const { return length_; }

 private:
  template <typename Part>
  void append(const Part& part) {
    std::memcpy(bytes_.data() + length_, &part, sizeof(Part));
    length_ += sizeof(Part);
  }
  // Only the field: the header is not read back, which would have to wait for the narrower writes before.
  template <typename Field>
  RecordBytes& write(std::size_t offset, Field field) {
    std::memcpy(bytes_.data() + offset, &field, sizeof(Field));
    return *this;
  }

  std::uint32_t length_ = 0;
  alignas(8) std::array<std::byte, wire::kLongestFixedPart> bytes_;
};

}  // namespace openlapi
