#include "dataplane/wire/operation_header.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace openlapi::wire {

namespace {

constexpr std::array<std::uint8_t, kLastRecordKind + 1> kBodySizes = {
    0,
    sizeof(PutBody),
    sizeof(ActiveMessageBody),
    sizeof(DataBody),
    sizeof(GetRequestBody),
    sizeof(GetDataBody),
    sizeof(RmwRequestBody),
    sizeof(RmwReplyBody),
    sizeof(CounterUpdateBody),
    sizeof(AttachDoneBody),
    sizeof(FenceBody),
    sizeof(FenceBody),
    sizeof(CollectiveBody),
    sizeof(MemoryReadBody),
};

bool may_be_long(RecordKind kind) {
  return kind == RecordKind::put || kind == RecordKind::active_message || kind == RecordKind::collective;
}

bool may_have_payload(RecordKind kind) {
  return may_be_long(kind) || kind == RecordKind::data || kind == RecordKind::get_data;
}

bool flags_fit(const RecordHeader& header) {
  const auto kind = static_cast<RecordKind>(header.kind);
  if ((header.flags & ~kKnownFlags) != 0) return false;
  if (header.flags != 0 && !may_be_long(kind)) return false;
  if ((header.flags & kFlagAttach) != 0 && ((header.flags & kFlagLong) == 0 || header.payload_length != 0))
    return false;
  if (header.user_header_length != 0 && kind != RecordKind::active_message) return false;
  if (header.user_header_length % 4 != 0) return false;
  return header.payload_length == 0 || may_have_payload(kind);
}

}  // namespace

std::size_t body_size(std::uint8_t kind) { return kind <= kLastRecordKind ? kBodySizes[kind] : 0; }

bool next_record(std::span<std::byte>& rest, Record& record) {
  if (rest.size() < sizeof(RecordHeader)) return false;
  std::memcpy(&record.header, rest.data(), sizeof(RecordHeader));
  const std::size_t body = body_size(record.header.kind);
  if (body == 0 || !flags_fit(record.header)) return false;

  std::size_t fixed = sizeof(RecordHeader) + body;
  const std::size_t extension = record.is_long() ? sizeof(LongExtension) : 0;
  const std::size_t length =
      fixed + extension + record.header.user_header_length + std::size_t{record.header.payload_length};
  if (length > rest.size()) return false;

  record.body = rest.data() + sizeof(RecordHeader);
  record.extension = {};
  if (extension != 0) {
    std::memcpy(&record.extension, rest.data() + fixed, sizeof(LongExtension));
    if (record.extension.total_length < record.header.payload_length) return false;
    fixed += extension;
  }
  record.user_header = rest.data() + fixed;
  record.payload = rest.data() + fixed + record.header.user_header_length;
  rest = rest.subspan(std::min(align_record(length), rest.size()));
  return true;
}

}  // namespace openlapi::wire
