// The fixed parts of a long message's records, and the flags of records in general.
#pragma once

#include "dataplane/message/outgoing_message.h"
#include "dataplane/message/record_bytes.h"

namespace openlapi {

// What the first record of a message whose data comes from a layout says of it. Vectors and atoms are of active
// messages only.
inline std::uint8_t message_flags(bool vector, const LayoutCursor& source) {
  const unsigned atoms = source.atom_size() != 0 ? wire::kFlagAtoms : 0;
  return static_cast<std::uint8_t>(atoms | (vector ? wire::kFlagVector : 0));
}

inline RecordBytes first_fragment(const OutgoingMessage& message) {
  const wire::LongExtension extension{message.total, 0, message.id, 0};
  if (message.kind == wire::RecordKind::collective) {
    wire::CollectiveBody body;
    std::memcpy(&body, message.body.data(), sizeof(body));
    return RecordBytes(message.kind, body).extend(extension, wire::kFlagLong);
  }
  if (message.kind == wire::RecordKind::get_layout) {
    wire::GetLayoutBody body;
    std::memcpy(&body, message.body.data(), sizeof(body));
    return RecordBytes(message.kind, body).extend(extension, wire::kFlagLong);
  }
  const std::uint8_t vector = message.vector ? wire::kFlagVector : 0;
  return RecordBytes(message.kind, message.body).extend(extension, wire::kFlagLong | vector);
}

inline RecordBytes later_fragment(const OutgoingMessage& message) {
  if (message.kind == wire::RecordKind::get_data) {
    wire::GetDataBody body;
    std::memcpy(&body, message.body.data(), sizeof(body));
    body.offset = message.offset;
    return RecordBytes(wire::RecordKind::get_data, body);
  }
  return RecordBytes(wire::RecordKind::data, wire::DataBody{.message_id = message.id, .offset = message.offset});
}

}  // namespace openlapi
