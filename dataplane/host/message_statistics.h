// What an endpoint counts for the user.
#pragma once

#include <cstdint>

namespace openlapi {

// As in lapi_statistics_t: one set for packets over networks, one for shared memory, one for messages to oneself.
struct MessageStatistics {
  std::uint64_t duplicate_packets = 0;
  std::uint64_t retransmitted_packets = 0;  // also attachments and bulk transfers that the peer could not carry out
  std::uint64_t ghost_packets = 0;          // from strangers, former incarnations, or for nobody
  std::uint64_t packets_sent = 0;           // also attachments and bulk transfers, each as one
  std::uint64_t packets_received = 0;
  std::uint64_t data_sent = 0;       // bytes of user data of messages sent
  std::uint64_t data_received = 0;   // bytes of user data of messages that have arrived completely
  std::uint64_t bulk_sent = 0;       // messages and answers to gets that the peer's adapter has read here
  std::uint64_t bulk_received = 0;   // the same that this task's adapter has read from peers
  std::uint64_t bulk_fallbacks = 0;  // failures here or there after which the data went in packets
};

enum class StatisticsPath : std::uint8_t { network, shared_memory, local };

}  // namespace openlapi
