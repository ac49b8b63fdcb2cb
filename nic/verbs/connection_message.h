// What two transports tell each other to connect: datagrams between their queue pairs for packets. An immediate value
// distinguishes them from packets.
//
//   offset  bytes  (numbers are little-endian)
//   0       1      version, 2
//   1       1      kind: 1 request, 2 accept, 3 refuse, 4 close; of a ring in memory 5 request, 6 grant, 7 refuse
//   2       1      most reads at a time: wanted (request), granted (accept); 1 for packets
//   3       1      purpose: 0 reads, 1 packets, 2 reads of a few bytes (short_reads.h)
//   4       4      number of the sender's reliable queue pair, 24 bits
//   8       4      number of the first packet that it will send, 24 bits
//   12      4      accept for purpose 2: remote key of all memory of the sender; else zero
//   16      8      number of the connection, by which the requester knows it
//   24      34     the sender's address (verbs_address.h)
//
// The messages of a ring (ring_slots.h) are for packets (purpose 1), and have in the places of the same length:
//
//   2       1      which ring of the connection, 0 to 31
//   4       4      remote key of that memory: the asker's words (request), the slots (grant); 0 in a refusal
//   8       8      its address, a multiple of 8; 0 in a refusal
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/verbs/ring_control.h"
#include "nic/verbs/verbs_address.h"

namespace openlapi::verbs {

inline constexpr std::uint32_t kConnectionImmediate = 0x6c617069;
inline constexpr std::size_t kConnectionMessageLength = 58;

struct ConnectionMessage {
  enum class Kind : std::uint8_t {
    request = 1,
    accept = 2,
    refuse = 3,
    close = 4,
    ring_request = 5,
    ring_grant = 6,
    ring_refuse = 7
  };
  enum class Purpose : std::uint8_t { reads = 0, packets = 1, one_sided = 2 };
  Kind kind = Kind::request;
  Purpose purpose = Purpose::reads;
  std::uint8_t reads = 0;
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint64_t connection = 0;
  Address address;
  std::uint32_t key = 0;
  // Of a ring's messages; these have no reads, queue pair, first packet and key.
  std::uint8_t ring = 0;
  RingPlace place{};

  constexpr bool is_of_ring() const { return kind >= Kind::ring_request; }
};

std::array<std::byte, kConnectionMessageLength> encode(const ConnectionMessage& message);

// False: not a connection message.
bool decode(std::span<const std::byte> bytes, ConnectionMessage& message);

}  // namespace openlapi::verbs
