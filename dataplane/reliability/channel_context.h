// What all channels of one endpoint over one transport have in common. Made by the endpoint; outlives the channels.
#pragma once

#include <cstdint>

#include "dataplane/reliability/packet_pool.h"
#include "dataplane/tuning.h"

namespace openlapi {

// Plain numbers, as lapi_statistics_t wants them and more.
struct ReliabilityCounters {
  std::uint64_t packets_sent = 0;      // all, also acknowledgements and retransmissions
  std::uint64_t packets_received = 0;  // all that passed the filter
  std::uint64_t duplicates = 0;        // data packets that had been taken before
  std::uint64_t retransmits = 0;
  std::uint64_t ghosts = 0;             // from or for a former incarnation
  std::uint64_t wrong_cookie = 0;       // strangers
  std::uint64_t wrong_destination = 0;  // for another task or context
  std::uint64_t malformed = 0;          // no header, lies about its length, impossible numbers
  std::uint64_t damaged = 0;            // checksum
  std::uint64_t early = 0;              // data packets that arrived before one they follow
  std::uint64_t dropped_early = 0;      // of these, those for which there was no room
  std::uint64_t refused = 0;            // the engine did not take them
  std::uint64_t acks_sent = 0;          // packets that carried nothing else
  std::uint64_t timeouts = 0;           // of the retransmission timer
  std::uint64_t peer_restarts = 0;
};

struct ChannelContext {
  std::uint64_t cookie = 0;  // of the job
  std::uint32_t self = 0;    // this task
  std::uint32_t epoch = 1;   // this incarnation of it, never 0; later ones have larger numbers
  std::uint8_t instance = 0;
  bool checksum = false;         // TransportLimits::checked is false: every packet carries a checksum
  std::uint32_t max_packet = 0;  // TransportLimits::max_packet, at most wire::kLongestPacket
  std::uint32_t ack_threshold = tuning::kAckThreshold;              // may change at any time
  std::uint64_t most_bytes_in_flight = tuning::kMostBytesInFlight;  // towards one peer
  std::uint32_t first_sequence = 0;  // number of the first packet of each channel; any value will do
  PacketPool* pool = nullptr;        // buffers of at least max_packet bytes
  ReliabilityCounters counters;
};

}  // namespace openlapi
