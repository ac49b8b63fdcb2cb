// One record with data from a layout, built on the stack: the fixed part, whatever else precedes the data, and pieces
// of the user's memory that the transport copies directly into the packet.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "dataplane/layout/layout_cursor.h"
#include "dataplane/message/outgoing_message.h"
#include "dataplane/message/record_bytes.h"

namespace openlapi {

// The parts of a record. A put has a destination; otherwise the target decides where the data goes.
struct LayoutParts {
  wire::RecordKind kind;                // put, active_message or get_data
  const std::byte* body;                // PutBody, ActiveMessageBody or GetDataBody
  LayoutCursor* source;                 // at `offset`
  LayoutCursor* destination = nullptr;  // at `offset`; null: no put
  ConstBuffer user_header{};            // of an active message's first record
  std::uint64_t total;                  // bytes of the message's data
  std::uint64_t offset = 0;             // of the record's first byte
  std::uint32_t message_id = 0;         // 0: the record is to be the whole message
  bool first = true;                    // record of the message
  bool vector = false;                  // as in OutgoingMessage

  std::uint64_t left() const { return total - offset; }
};

class LayoutRecord {
 public:
  // Builds the next record of at most `max_record` bytes and moves the cursors past its data. Returns the number of
  // bytes of data. If a whole message does not fit, the record is incomplete and must not be sent.
  std::uint64_t build(const LayoutParts& parts, std::uint32_t max_record);

  std::span<const ConstBuffer> pieces() const { return std::span(pieces_).first(count_); }
  std::uint32_t length() const { return length_; }

 private:
  // Data in more pieces than this needs another record.
  static constexpr std::size_t kMostPieces = 512;

  std::uint64_t build_put(const LayoutParts& parts, std::uint32_t max_record);
  std::uint64_t build_put_strided(const LayoutParts& parts, const wire::StridedLayout& layout,
                                  std::uint32_t max_record);
  std::uint64_t build_put_pieces(const LayoutParts& parts, std::uint32_t max_record);
  std::uint64_t fit_destination(LayoutCursor& destination, std::uint64_t most, std::uint32_t room);
  std::uint64_t take_data(LayoutCursor& source, std::uint64_t most, std::uint64_t left);
  RecordBytes fixed_part(const LayoutParts& parts) const;
  void finish(const RecordBytes& fixed, ConstBuffer before_data, std::uint64_t data);

  RecordBytes fixed_{wire::RecordKind::data, wire::DataBody{}};
  std::uint32_t length_ = 0;
  std::size_t count_ = 0;       // of pieces_ in use
  std::size_t data_count_ = 0;  // of data_ in use
  std::array<LayoutPiece, kMostPieces> data_;
  std::array<LayoutPiece, kMostPieces> destination_;
  std::array<ConstBuffer, kMostPieces + 2> pieces_;
};

}  // namespace openlapi
