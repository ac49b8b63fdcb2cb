#include "dataplane/message/layout_record.h"

#include <algorithm>
#include <cstring>

#include "dataplane/message/fragments.h"

namespace openlapi {

using wire::RecordKind;

namespace {

template <typename Body>
Body body_of(const LayoutParts& parts) {
  Body body;
  std::memcpy(&body, parts.body, sizeof(body));
  return body;
}

}  // namespace

std::uint64_t LayoutRecord::build(const LayoutParts& parts, std::uint32_t max_record) {
  if (parts.destination != nullptr) return build_put(parts, max_record);
  RecordBytes fixed = fixed_part(parts);
  const auto head = static_cast<std::uint32_t>(fixed.length() + parts.user_header.length);
  const std::uint64_t left = parts.left();
  const std::uint64_t bytes = take_data(*parts.source, std::min<std::uint64_t>(max_record - head, left), left);
  fixed.user_header_length(static_cast<std::uint32_t>(parts.user_header.length)).payload_length(bytes);
  finish(fixed, parts.user_header, bytes);
  return bytes;
}

RecordBytes LayoutRecord::fixed_part(const LayoutParts& parts) const {
  if (parts.kind == RecordKind::get_data) {
    auto body = body_of<wire::GetDataBody>(parts);
    body.offset = parts.offset;
    return RecordBytes(parts.kind, body);
  }
  if (!parts.first)
    return RecordBytes(RecordKind::data, wire::DataBody{.message_id = parts.message_id, .offset = parts.offset});
  RecordBytes fixed(parts.kind, body_of<wire::ActiveMessageBody>(parts));
  const std::uint8_t flags = message_flags(parts.vector, *parts.source);
  if (parts.message_id == 0) return fixed.flags(flags);
  return fixed.extend({parts.total, 0, parts.message_id, 0}, wire::kFlagLong | flags);
}

std::uint64_t LayoutRecord::build_put(const LayoutParts& parts, std::uint32_t max_record) {
  wire::StridedLayout layout;
  return parts.destination->as_strided(layout) ? build_put_strided(parts, layout, max_record)
                                               : build_put_pieces(parts, max_record);
}

std::uint64_t LayoutRecord::build_put_strided(const LayoutParts& parts, const wire::StridedLayout& layout,
                                              std::uint32_t max_record) {
  const auto put = body_of<wire::PutBody>(parts);
  RecordBytes fixed(RecordKind::put_strided, wire::PutStridedBody{.target_counter = put.target_counter,
                                                                  .completion_counter = put.completion_counter,
                                                                  .total_length = parts.total,
                                                                  .base = layout.base,
                                                                  .block = layout.block,
                                                                  .stride = layout.stride,
                                                                  .offset = parts.offset,
                                                                  .message_id = parts.message_id});
  const std::uint64_t left = parts.left();
  const std::uint64_t bytes =
      take_data(*parts.source, std::min<std::uint64_t>(max_record - fixed.length(), left), left);
  parts.destination->seek(parts.offset + bytes);
  finish(fixed.payload_length(bytes), {}, bytes);
  return bytes;
}

std::uint64_t LayoutRecord::build_put_pieces(const LayoutParts& parts, std::uint32_t max_record) {
  constexpr std::uint32_t kFixed = sizeof(wire::RecordHeader) + sizeof(wire::PutPiecesBody);
  const std::uint64_t left = parts.left();
  const std::uint64_t room = fit_destination(*parts.destination, left, max_record - kFixed);
  const std::uint64_t bytes = take_data(*parts.source, room, left);
  // What the source has not filled is none of this record's.
  std::size_t count = 0;
  for (std::uint64_t covered = 0; covered < bytes; ++count) {
    destination_[count].length = std::min(destination_[count].length, bytes - covered);
    covered += destination_[count].length;
  }
  parts.destination->seek(parts.offset + bytes);
  const auto put = body_of<wire::PutBody>(parts);
  const wire::PutPiecesBody body{.target_counter = put.target_counter,
                                 .completion_counter = put.completion_counter,
                                 .total_length = parts.total,
                                 .message_id = parts.message_id,
                                 .piece_count = static_cast<std::uint32_t>(count)};
  const ConstBuffer list{destination_.data(), count * sizeof(LayoutPiece)};
  finish(RecordBytes(RecordKind::put_pieces, body).payload_length(list.length + bytes), list, bytes);
  return bytes;
}

// Takes pieces of the destination and answers how many bytes of them have room, list and data, in `room` bytes.
std::uint64_t LayoutRecord::fit_destination(LayoutCursor& destination, std::uint64_t most, std::uint32_t room) {
  const std::size_t offered = destination.next_pieces(destination_, std::min<std::uint64_t>(most, room));
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < offered && room > sizeof(LayoutPiece); ++i) {
    room -= static_cast<std::uint32_t>(sizeof(LayoutPiece));
    const std::uint64_t length = std::min<std::uint64_t>(destination_[i].length, room);
    bytes += length;
    room -= static_cast<std::uint32_t>(length);
  }
  return bytes;
}

// Takes at most `most` bytes of the `left` ones; unless they are the last, whole atoms: none if there is no room for
// one.
std::uint64_t LayoutRecord::take_data(LayoutCursor& source, std::uint64_t most, std::uint64_t left) {
  const std::uint64_t begin = source.position();
  const std::uint32_t atom = std::max<std::uint32_t>(source.atom_size(), 1);
  if (most < left) most -= most % atom;
  data_count_ = source.next_pieces(data_, most);
  std::uint64_t bytes = source.position() - begin;
  const std::uint64_t rest = bytes < left ? bytes % atom : 0;
  if (rest == 0) return bytes;
  source.seek(begin + bytes - rest);
  for (std::uint64_t cut = rest; cut != 0;) {
    LayoutPiece& last = data_[data_count_ - 1];
    const std::uint64_t step = std::min(cut, last.length);
    last.length -= step;
    cut -= step;
    if (last.length == 0) --data_count_;
  }
  return bytes - rest;
}

void LayoutRecord::finish(const RecordBytes& fixed, ConstBuffer before_data, std::uint64_t data) {
  fixed_ = fixed;
  pieces_[0] = fixed_.piece();
  pieces_[1] = before_data;
  for (std::size_t i = 0; i < data_count_; ++i) {
    pieces_[i + 2] = {reinterpret_cast<const void*>(static_cast<std::uintptr_t>(data_[i].address)),
                      static_cast<std::size_t>(data_[i].length)};
  }
  count_ = data_count_ + 2;
  length_ = static_cast<std::uint32_t>(fixed_.length() + before_data.length + data);
}

}  // namespace openlapi
