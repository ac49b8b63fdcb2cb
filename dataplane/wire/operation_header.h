// The records that packets are made of: one record is one message, or one fragment of a long one. wire_format.md has
// the text; this file has the layouts. All numbers are little-endian at fixed offsets, addresses are always 64 bits,
// every record starts at a multiple of 8 bytes from the start of the packet's payload.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace openlapi::wire {

static_assert(std::endian::native == std::endian::little, "records are copied to the wire as they lie in memory");

enum class RecordKind : std::uint8_t {
  put = 1,          // body PutBody, payload goes to target_address
  active_message,   // body ActiveMessageBody, user header, payload
  data,             // body DataBody: a later fragment of a long put, active message or collective
  get_request,      // body GetRequestBody
  get_data,         // body GetDataBody, payload: a fragment of what was asked for
  rmw_request,      // body RmwRequestBody
  rmw_reply,        // body RmwReplyBody
  counter_update,   // body CounterUpdateBody: add one to a counter of the receiver
  attach_done,      // body AttachDoneBody: the receiver has read (or could not read) the origin's memory
  fence_request,    // body FenceBody: answer when that many of my messages are in place
  fence_reply,      // body FenceBody
  collective,       // body CollectiveBody, payload: one round of a barrier or an exchange
  memory_read,      // body MemoryReadBody: the sender has read the receiver's memory for a get
  put_pieces,       // body PutPiecesBody, payload: LayoutPieces, then the data that goes to them
  put_strided,      // body PutStridedBody, payload goes to blocks at a constant distance
  get_layout,       // body GetLayoutBody, payload: the description of what is asked for
  request_refused,  // body RequestRefusedBody: that request will not be answered
  get_key,          // body GetKeyBody, payload BulkKeys: the receiver's adapters may read what it has asked for
  short_put,        // ShortPutHeader, target address, the counters that there are, payload: a whole put in fewer bytes
};
inline constexpr std::uint8_t kFirstRecordKind = 1;
inline constexpr std::uint8_t kLastRecordKind = 19;

// RecordHeader::flags.
inline constexpr std::uint8_t kFlagLong = 1;    // LongExtension follows the body: the message has further fragments
inline constexpr std::uint8_t kFlagAttach = 2;  // with kFlagLong: no payload, the receiver reads the origin's memory
inline constexpr std::uint8_t kFlagVector = 4;  // active message: the header handler answers with a vector
inline constexpr std::uint8_t kFlagLayout =
    8;  // with kFlagAttach: what lies in the origin is a description of the data
inline constexpr std::uint8_t kFlagAtoms =
    16;  // active message: every record of it has whole atoms, however many bytes the origin says one has
inline constexpr std::uint8_t kFlagBulk =
    32;  // with kFlagAttach: adapters read, the payload is BulkKeys; get request: keys are welcome
inline constexpr std::uint8_t kKnownFlags =
    kFlagLong | kFlagAttach | kFlagVector | kFlagLayout | kFlagAtoms | kFlagBulk;
// ShortPutHeader::flags.
inline constexpr std::uint8_t kFlagTargetCounter = 64;       // its address follows the target address
inline constexpr std::uint8_t kFlagCompletionCounter = 128;  // the same, behind the target counter if there is one
inline constexpr std::uint8_t kShortPutFlags = kFlagTargetCounter | kFlagCompletionCounter;

struct RecordHeader {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint16_t user_header_length;  // bytes, only active messages; a multiple of 4
  std::uint32_t payload_length;      // bytes of payload in this record
};

// Of a short put, in the place of a RecordHeader; its body follows at once, where addresses are not aligned.
struct ShortPutHeader {
  std::uint8_t kind;
  std::uint8_t flags;
  std::uint16_t payload_length;
};

struct PutBody {
  std::uint64_t target_address;
  std::uint64_t target_counter;      // 0: none
  std::uint64_t completion_counter;  // address in the origin, sent back by counter_update; 0: none
};

struct ActiveMessageBody {
  std::uint64_t handler;  // header handler's address, or its index when below the address table's size
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
};

// Behind the body of a put, active message or collective whose payload is longer than one record.
struct LongExtension {
  std::uint64_t total_length;    // bytes of the whole message
  std::uint64_t source_address;  // with kFlagAttach: where the payload lies in the origin
  std::uint32_t message_id;      // chosen by the origin; names the message's later fragments
  std::uint32_t layout_length;   // with kFlagLayout: bytes of the description at source_address
};

// What an adapter needs to read memory of the sender through one of the sender's adapters. Only the adapters know what
// it means. There is one for each adapter of the sender's that serves, in any order.
struct BulkKey {
  std::byte bytes[16];
};
inline constexpr std::size_t kMostBulkKeys = 8;  // of one message
constexpr bool is_length_of_keys(std::uint32_t bytes) {
  return bytes != 0 && bytes % sizeof(BulkKey) == 0 && bytes <= kMostBulkKeys * sizeof(BulkKey);
}

struct DataBody {
  std::uint32_t message_id;
  std::uint32_t reserved = 0;
  std::uint64_t offset;  // of this fragment's first byte in the message
};

struct GetRequestBody {
  std::uint64_t target_address;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint32_t request_id;
  std::uint32_t reserved = 0;
};

struct GetDataBody {
  std::uint32_t request_id;
  std::uint32_t reserved = 0;
  std::uint64_t offset;
};

struct RmwRequestBody {
  std::uint8_t operation;  // wire::RmwOperation
  std::uint8_t width;      // 4 or 8 bytes
  std::uint16_t reserved = 0;
  std::uint32_t request_id;
  std::uint64_t target_address;
  std::uint64_t input;       // the value; for compare-and-swap what is compared with
  std::uint64_t swap_value;  // compare-and-swap only
};

enum class RmwOperation : std::uint8_t { fetch_and_add = 1, fetch_and_or, swap, compare_and_swap };

struct RmwReplyBody {
  std::uint32_t request_id;
  std::uint32_t reserved = 0;
  std::uint64_t previous;  // for compare-and-swap 1 or 0
};

struct CounterUpdateBody {
  std::uint64_t counter;
};

enum class AttachAnswer : std::uint32_t {
  not_read,  // this message could not be read, send fragments
  read,
  closed,  // the same as not_read, and no other message of yours can be read either
};

struct AttachDoneBody {
  std::uint32_t message_id;  // as the extension or a get_key has named it
  AttachAnswer answer;
};

struct FenceBody {
  std::uint32_t count;  // request: messages sent so far to this peer; reply: the same
  std::uint32_t ticket;
};

struct CollectiveBody {
  std::uint32_t sequence;  // the n-th collective of this context
  std::uint32_t round;
};

struct MemoryReadBody {
  std::uint64_t counter;  // address in the receiver, plus 1; 0: none
  std::uint64_t length;   // bytes that were read
};

// Every record of such a put says by itself where its data goes and what the whole message is, so that records may come
// in any order and the target keeps no description.
struct PutPiecesBody {
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
  std::uint64_t total_length;  // bytes of data of the whole message
  std::uint32_t message_id;    // 0: the whole message is in this record
  std::uint32_t piece_count;   // in this record
};

struct PutStridedBody {
  std::uint64_t target_counter;
  std::uint64_t completion_counter;
  std::uint64_t total_length;
  std::uint64_t base;    // address of the first block
  std::uint64_t block;   // bytes
  std::uint64_t stride;  // bytes from one block's first byte to the next one's
  std::uint64_t offset;  // of this record's first byte in the message
  std::uint32_t message_id;
  std::uint32_t reserved = 0;
};

struct GetLayoutBody {
  std::uint64_t target_counter;
  std::uint32_t request_id;
  std::uint32_t reserved = 0;
};

enum class RefusalReason : std::uint32_t {
  not_own_memory,  // what the request names is no memory of the sender's
  out_of_memory,   // the sender has no memory for the request, or for its answer
  begins_anew,     // of none: the sender begins anew with its peer, in the era that `request_id` numbers
};

struct RequestRefusedBody {
  std::uint32_t request_id;  // of a get request, get layout or rmw request
  RefusalReason reason;
};

// The memory that a get request names can be read under the keys behind this until attach_done names the message.
struct GetKeyBody {
  std::uint32_t request_id;
  std::uint32_t message_id;  // chosen by the target
  std::uint64_t source_address;
};

static_assert(sizeof(RecordHeader) == 8 && sizeof(PutBody) == 24 && sizeof(ActiveMessageBody) == 24);
static_assert(sizeof(LongExtension) == 24 && sizeof(DataBody) == 16 && sizeof(GetRequestBody) == 32);
static_assert(sizeof(GetDataBody) == 16 && sizeof(RmwRequestBody) == 32 && sizeof(RmwReplyBody) == 16);
static_assert(sizeof(CounterUpdateBody) == 8 && sizeof(AttachDoneBody) == 8 && sizeof(FenceBody) == 8);
static_assert(sizeof(CollectiveBody) == 8 && sizeof(MemoryReadBody) == 16);
static_assert(offsetof(RecordHeader, payload_length) == 4 && offsetof(LongExtension, message_id) == 16);
static_assert(offsetof(GetRequestBody, request_id) == 24 && offsetof(RmwRequestBody, target_address) == 8);

static_assert(sizeof(PutPiecesBody) == 32 && sizeof(PutStridedBody) == 64 && sizeof(GetLayoutBody) == 16);
static_assert(sizeof(RequestRefusedBody) == 8 && offsetof(RequestRefusedBody, reason) == 4);
static_assert(sizeof(BulkKey) == 16 && sizeof(GetKeyBody) == 16 && offsetof(GetKeyBody, source_address) == 8);
static_assert(offsetof(PutPiecesBody, message_id) == 24 && offsetof(PutStridedBody, message_id) == 56);

inline constexpr std::size_t kLongestFixedPart = sizeof(RecordHeader) + sizeof(PutStridedBody);
static_assert(kLongestFixedPart >= sizeof(RecordHeader) + sizeof(GetRequestBody) + sizeof(LongExtension));

// Bytes in front of a short put's payload.
constexpr std::size_t short_put_fixed_part(std::uint8_t flags) {
  const std::size_t counters = (flags / kFlagTargetCounter & 1u) + (flags / kFlagCompletionCounter & 1u);
  return sizeof(ShortPutHeader) + (1 + counters) * sizeof(std::uint64_t);
}
static_assert(sizeof(ShortPutHeader) == 4 && short_put_fixed_part(0) == 12 && short_put_fixed_part(0xff) == 28);

constexpr std::size_t align_record(std::size_t length) { return (length + 7) & ~std::size_t{7}; }

// One record found in a packet; the pointers point into the packet.
struct Record {
  RecordHeader header;  // of a short put as if it had one
  const std::byte* body;
  const std::byte* user_header;
  std::byte* payload;
  LongExtension extension;  // only with kFlagLong

  RecordKind kind() const { return static_cast<RecordKind>(header.kind); }
  bool is_long() const { return (header.flags & kFlagLong) != 0; }
  bool is_attach() const { return (header.flags & kFlagAttach) != 0; }
  bool is_vector() const { return (header.flags & kFlagVector) != 0; }
  bool has_layout() const { return (header.flags & kFlagLayout) != 0; }
  bool in_atoms() const { return (header.flags & kFlagAtoms) != 0; }
  bool is_bulk() const { return (header.flags & kFlagBulk) != 0; }
};

template <typename Body>
Body body_of(const Record& record) {
  Body body;
  std::memcpy(&body, record.body, sizeof(body));
  return body;
}

// Of a put or a short put.
inline PutBody put_body(const Record& record) {
  if (record.kind() != RecordKind::short_put) return body_of<PutBody>(record);
  PutBody body{};
  const std::byte* next = record.body;
  const auto take = [&next](std::uint64_t& word) {
    std::memcpy(&word, next, sizeof(word));
    next += sizeof(word);
  };
  take(body.target_address);
  if ((record.header.flags & kFlagTargetCounter) != 0) take(body.target_counter);
  if ((record.header.flags & kFlagCompletionCounter) != 0) take(body.completion_counter);
  return body;
}

// The payload of a put_pieces record.
struct PiecesAndData {
  const std::byte* pieces;  // `count` LayoutPieces
  std::size_t count;
  const std::byte* data;
  std::size_t length;  // of the data: the sum of the pieces' lengths
};

// Bytes of the fixed body of a kind; 0 for a kind that does not exist. A short put's has the target address at least.
std::size_t body_size(std::uint8_t kind);

// Takes the first record off `rest` and moves `rest` behind it. False: the bytes are no record (unknown kind or flags,
// lengths that lie); nothing of them may be used.
bool next_record(std::span<std::byte>& rest, Record& record);

// Cuts the payload of a put_pieces record up. False: the pieces do not fit it, wrap, or are not as long as the data.
bool split_pieces(const Record& record, const PutPiecesBody& body, PiecesAndData& out);

}  // namespace openlapi::wire
