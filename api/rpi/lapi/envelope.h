// What our messages say beside their data: the header of each message of a World. Little-endian, at fixed offsets:
//
//   0  version      8 bits    kEnvelopeVersion
//   1  kind         8 bits    EnvelopeKind
//   2  rank        16 bits    of messages; 0 in others
//   4  sequence    32 bits    of the messages between a pair of processes; 0 in answers
//   and no more in `leaves`
//   then, of messages                            then, of answers
//   8  context     32 bits                        8  request  64 bits  which one is answered
//  12  tag         32 bits
//  16  number      32 bits
//  20  request     64 bits    of synchronous and long ones
//  28  address     64 bits    of long ones
//  36  length      64 bits    of long ones
//
// So that of a short message, with 8 bytes of data, all fits into one slot of shared memory (endpoint_world.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace openlapi::rpi {

inline constexpr std::uint8_t kEnvelopeVersion = 2;
inline constexpr std::size_t kMostEnvelope = 44;
inline constexpr std::int32_t kMostRank = UINT16_MAX;  // no group is larger

enum class EnvelopeKind : std::uint8_t {
  short_message = 1,  // the data come with it
  synchronous,        // likewise, and the sender waits for `matched`
  long_message,       // no data: they are `length` bytes at `address` of the sender, who waits for `fetched`
  matched,            // answer: a synchronous message has met its receive
  fetched,            // answer: the receiver has what it wants of a long message
  leaves,             // the last message to this receiver: the sender has called MPI_Finalize, or frees what joins them
};

struct Envelope {
  EnvelopeKind kind = EnvelopeKind::short_message;
  std::uint32_t sequence = 0;
  std::int32_t context = 0, tag = 0;
  std::int32_t rank = 0;      // of the sender, in its group of the communicator
  std::int32_t number = 0;    // rq_seq of the sender
  std::uint64_t request = 0;  // the sender's name of what waits for the answer; never 0 there
  std::uint64_t address = 0, length = 0;

  bool is_answer() const { return kind == EnvelopeKind::matched || kind == EnvelopeKind::fetched; }
  bool operator==(const Envelope&) const = default;
};

// The part of `room` that the envelope takes. Members that its kind does not have are left out.
std::span<const std::byte> encode(const Envelope& envelope, std::span<std::byte, kMostEnvelope> room);
// Nothing: it is no envelope of this version, or says what none can: a wildcard as the tag, a length that MPI
// cannot have.
std::optional<Envelope> decode_envelope(std::span<const std::byte> header);

}  // namespace openlapi::rpi
