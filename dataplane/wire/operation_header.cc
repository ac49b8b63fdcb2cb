#include "dataplane/wire/operation_header.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dataplane/wire/layout_description.h"

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
    sizeof(PutPiecesBody),
    sizeof(PutStridedBody),
    sizeof(GetLayoutBody),
    sizeof(RequestRefusedBody),
    sizeof(GetKeyBody),
    short_put_fixed_part(0) - sizeof(ShortPutHeader),
};

constexpr bool may_be_long(RecordKind kind) {
  return kind == RecordKind::put || kind == RecordKind::active_message || kind == RecordKind::collective ||
         kind == RecordKind::get_layout;
}

constexpr bool may_have_payload(RecordKind kind) {
  return may_be_long(kind) || kind == RecordKind::data || kind == RecordKind::get_data ||
         kind == RecordKind::put_pieces || kind == RecordKind::put_strided || kind == RecordKind::get_key;
}

// may_have_payload() of all kinds: a bit each.
constexpr std::uint32_t kHavePayload = [] {
  std::uint32_t kinds = 0;
  for (unsigned kind = kFirstRecordKind; kind <= kLastRecordKind; ++kind) {
    if (may_have_payload(static_cast<RecordKind>(kind))) kinds |= 1u << kind;
  }
  return kinds;
}();
static_assert(kLastRecordKind < 32);

bool may_attach(RecordKind kind) { return kind == RecordKind::put || kind == RecordKind::active_message; }

bool bulk_fits(const RecordHeader& header, RecordKind kind) {
  if (kind == RecordKind::get_request) return header.flags == kFlagBulk;
  return may_attach(kind) && (header.flags & kFlagAttach) != 0 && (header.flags & kFlagLayout) == 0;
}

bool flags_fit(const RecordHeader& header) {
  const auto kind = static_cast<RecordKind>(header.kind);
  const bool is_plain = header.flags == 0 && header.user_header_length == 0;  // as most are
  if (is_plain) return header.payload_length == 0 || (kHavePayload >> header.kind & 1) != 0;
  if ((header.flags & ~kKnownFlags) != 0) return false;
  if ((header.flags & kFlagBulk) != 0 && !bulk_fits(header, kind)) return false;
  if ((header.flags & ~kFlagBulk) != 0 && !may_be_long(kind)) return false;
  if ((header.flags & kFlagAttach) != 0) {
    if ((header.flags & kFlagLong) == 0 || !may_attach(kind)) return false;
    const bool has_keys = (header.flags & kFlagBulk) != 0;
    if (has_keys ? !is_length_of_keys(header.payload_length) : header.payload_length != 0) return false;
  }
  if ((header.flags & kFlagLayout) != 0 && (header.flags & kFlagAttach) == 0) return false;
  if ((header.flags & (kFlagVector | kFlagAtoms)) != 0 && kind != RecordKind::active_message) return false;
  if (header.user_header_length != 0 && kind != RecordKind::active_message) return false;
  if (header.user_header_length % 4 != 0) return false;
  return header.payload_length == 0 || may_have_payload(kind);
}

bool next_short_put(std::span<std::byte>& rest, Record& record) {
  ShortPutHeader header;
  std::memcpy(&header, rest.data(), sizeof(header));
  if ((header.flags & ~kShortPutFlags) != 0) return false;
  const std::size_t fixed = short_put_fixed_part(header.flags);
  const std::size_t length = fixed + header.payload_length;
  if (length > rest.size()) return false;
  record.header = {header.kind, header.flags, 0, header.payload_length};
  record.body = rest.data() + sizeof(ShortPutHeader);
  record.user_header = record.payload = rest.data() + fixed;
  rest = rest.subspan(std::min(align_record(length), rest.size()));
  return true;
}

}  // namespace

std::size_t body_size(std::uint8_t kind) { return kind <= kLastRecordKind ? kBodySizes[kind] : 0; }

bool next_record(std::span<std::byte>& rest, Record& record) {
  if (rest.size() < sizeof(RecordHeader)) return false;
  std::memcpy(&record.header, rest.data(), sizeof(RecordHeader));
  if (record.kind() == RecordKind::short_put) return next_short_put(rest, record);
  const std::size_t body = body_size(record.header.kind);
  if (body == 0 || !flags_fit(record.header)) return false;

  std::size_t fixed = sizeof(RecordHeader) + body;
  const std::size_t extension = record.is_long() ? sizeof(LongExtension) : 0;
  // 64 bits wide also where addresses are not: no payload length may wrap around.
  const std::uint64_t length =
      std::uint64_t{fixed} + extension + record.header.user_header_length + record.header.payload_length;
  if (length > rest.size()) return false;

  record.body = rest.data() + sizeof(RecordHeader);
  if (extension != 0) {
    std::memcpy(&record.extension, rest.data() + fixed, sizeof(LongExtension));
    if (record.extension.total_length < record.header.payload_length && !record.is_bulk()) return false;
    fixed += extension;
  }
  record.user_header = rest.data() + fixed;
  record.payload = rest.data() + fixed + record.header.user_header_length;
  rest = rest.subspan(std::min(align_record(static_cast<std::size_t>(length)), rest.size()));
  return true;
}

bool split_pieces(const Record& record, const PutPiecesBody& body, PiecesAndData& out) {
  const std::size_t length = record.header.payload_length;
  if (body.piece_count > length / sizeof(LayoutPiece)) return false;
  const std::size_t list = body.piece_count * sizeof(LayoutPiece);
  out = {record.payload, body.piece_count, record.payload + list, length - list};
  return total_of({record.payload, list}) == out.length;
}

}  // namespace openlapi::wire
