// What all channels of one endpoint over one transport share. Owned by the endpoint; outlives the channels.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "dataplane/base/siphash.h"
#include "dataplane/reliability/packet_pool.h"
#include "dataplane/reliability/sequence.h"
#include "dataplane/tuning.h"

namespace openlapi {

// Plain counters: those that lapi_statistics_t wants, and more.
struct ReliabilityCounters {
  std::uint64_t packets_sent = 0;      // all, including acknowledgements and retransmissions
  std::uint64_t packets_received = 0;  // all that passed the filter
  std::uint64_t duplicates = 0;        // data packets that had been taken before
  std::uint64_t retransmits = 0;
  std::uint64_t ghosts = 0;             // from or for a former incarnation
  std::uint64_t strangers = 0;          // not from this job, or changed on the way
  std::uint64_t wrong_address = 0;      // from another address than the peer's, although with its association
  std::uint64_t beside_wrong = 0;       // not looked at, because another packet of the same datagram was wrong
  std::uint64_t wrong_destination = 0;  // for another context of the task
  std::uint64_t malformed = 0;          // no header, lies about its length, impossible numbers
  std::uint64_t damaged = 0;            // checksum
  std::uint64_t early = 0;              // data packets that arrived before one they follow
  std::uint64_t dropped_early = 0;      // those of them for which there was no room
  std::uint64_t refused = 0;            // the engine did not take them
  std::uint64_t acks_sent = 0;          // packets that carried nothing else
  std::uint64_t timeouts = 0;           // of the retransmission timer
  std::uint64_t peer_restarts = 0;
};

// Pairs of tasks whose association was checked recently, by the fields of a long header that it is computed from.
struct KnownAssociation {
  std::uint64_t association = 0;  // without tags
  SipKey tag_key;                 // with tags
  Epoch source_epoch = 0;         // 0: the entry is empty
  Epoch destination_epoch = 0;
  std::uint32_t source = 0;
  std::uint8_t path = 0;
};

struct ChannelContext {
  SipKey job_key;
  std::uint32_t self = 0;  // this task
  Epoch epoch = 1;         // this incarnation of it, never 0; later ones have larger numbers
  std::uint8_t instance = 0;
  bool tagged = false;           // each packet carries a tag in place of the association, see wire/packet_tag.h
  bool checksum = false;         // each packet carries a checksum: TransportLimits::checked is false, no tags
  std::uint32_t max_packet = 0;  // TransportLimits::max_packet, at most wire::kLongestPacket
  std::uint32_t ack_threshold = tuning::kAckThreshold;              // may change at any time
  std::uint64_t most_bytes_in_flight = tuning::kMostBytesInFlight;  // towards one peer
  // Number of the first packet of each incarnation of each pair, the same in all tasks. Empty (except in tests): what
  // wire::first_sequence_of() returns, which nobody else can foresee.
  std::optional<Sequence> first_sequence;
  Sequence first_in_window = 0;      // of each channel's first packet, in a count that never leaves the task
  PacketPool* pool = nullptr;        // buffers of at least max_packet bytes
  ReliabilityCounters counters;
  std::array<KnownAssociation, 16> known_associations{};  // for the packet filter, by source modulo their number
};

}  // namespace openlapi
