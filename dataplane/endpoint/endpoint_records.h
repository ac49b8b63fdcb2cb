// The fixed parts of a long message's records.
#pragma once

#include "dataplane/endpoint/outgoing_message.h"
#include "dataplane/endpoint/record_bytes.h"

namespace openlapi {

inline RecordBytes first_fragment(const OutgoingMessage& message) {
  const wire::LongExtension extension{message.total, 0, message.id, 0};
  if (message.kind == wire::RecordKind::collective) {
    wire::CollectiveBody body;
    std::memcpy(&body, message.body.data(), sizeof(body));
    return RecordBytes(message.kind, body).extend(extension, wire::kFlagLong);
  }
  return RecordBytes(message.kind, message.body).extend(extension, wire::kFlagLong);
}

inline RecordBytes later_fragment(const OutgoingMessage& message) {
  if (message.kind == wire::RecordKind::get_data) {
    wire::GetDataBody body;
    std::memcpy(&body, message.body.data(), sizeof(body));
    body.offset = message.offset;
    return RecordBytes(wire::RecordKind::get_data, body);
  }
  return RecordBytes(wire::RecordKind::data, wire::DataBody{message.id, 0, message.offset});
}

}  // namespace openlapi
