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
    header_.kind = static_cast<std::uint8_t>(kind);
    append(header_);
    append(body);
  }

  RecordBytes& user_header_length(std::uint32_t bytes) {
    header_.user_header_length = static_cast<std::uint16_t>(bytes);
    return rewrite();
  }
  RecordBytes& payload_length(std::uint64_t bytes) {
    header_.payload_length = static_cast<std::uint32_t>(bytes);
    return rewrite();
  }
  // A message with further fragments.
  RecordBytes& extend(const wire::LongExtension& extension, std::uint8_t flags) {
    header_.flags = flags;
    append(extension);
    return rewrite();
  }

  ConstBuffer piece() const { return {bytes_.data(), length_}; }
  std::uint32_t length() const { return length_; }

 private:
  template <typename Part>
  void append(const Part& part) {
    std::memcpy(bytes_.data() + length_, &part, sizeof(Part));
    length_ += sizeof(Part);
  }
  RecordBytes& rewrite() {
    std::memcpy(bytes_.data(), &header_, sizeof(header_));
    return *this;
  }

  wire::RecordHeader header_{};
  std::uint32_t length_ = 0;
  alignas(8) std::array<std::byte, wire::kLongestFixedPart> bytes_;
};

}  // namespace openlapi
