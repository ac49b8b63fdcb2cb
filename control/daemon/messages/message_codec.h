// A message of a variant as bytes: its kind, then its fields (message_fields.h).
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <variant>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::daemon {

template <typename Variant>
void append_kind(const Variant& message, MessageBytes& bytes) {
  std::visit(
      [&](const auto& known) {
        using Message = std::decay_t<decltype(known)>;
        bytes.push_back(Message::kKind);
        FieldWriter fields(bytes);
        Message::describe(fields, known);
      },
      message);
}

// Tries the alternatives of the variant one after the other. Nothing: an unknown kind, too few or too many bytes.
template <typename Variant, std::size_t index = 0>
std::optional<Variant> decode_kind(std::span<const std::uint8_t> bytes) {
  if constexpr (index == std::variant_size_v<Variant>) {
    return std::nullopt;
  } else {
    using Message = std::variant_alternative_t<index, Variant>;
    if (bytes.empty()) return std::nullopt;
    if (bytes[0] != Message::kKind) return decode_kind<Variant, index + 1>(bytes);
    FieldReader fields(bytes.subspan(1));
    Message message;
    Message::describe(fields, message);
    if (!fields.complete()) return std::nullopt;
    return message;
  }
}

}  // namespace openlapi::daemon
