// An endpoint's counts of messages and packets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "dataplane/host/message_statistics.h"
#include "dataplane/peers/peer.h"

namespace openlapi {

class Statistics {
 public:
  MessageStatistics& of(StatisticsPath path) { return paths_[static_cast<std::size_t>(path)]; }
  MessageStatistics& of(const Peer& peer) {
    return of(peer.is_direct() ? StatisticsPath::shared_memory : StatisticsPath::network);
  }
  MessageStatistics& of_self() { return of(StatisticsPath::local); }

  // A message to the peer has freed its origin buffer. An answer to a get counts as one.
  void message_sent(const Peer& peer, std::uint64_t data_bytes) {
    ++sends_completed_;
    of(peer).data_sent += data_bytes;
  }
  // The same for a message of which no data has left this task.
  void send_completed() { ++sends_completed_; }
  void receive_completed() { ++receives_completed_; }

  // The data of a message from this task to itself was copied.
  void message_copied(std::uint64_t data_bytes) {
    of_self().data_sent += data_bytes;
    of_self().data_received += data_bytes;
  }

  // A record that is for nobody, or is malformed.
  void ghost() { ++ghosts_; }

  // Without what the channels count.
  MessageStatistics told(StatisticsPath path) const {
    MessageStatistics told = paths_[static_cast<std::size_t>(path)];
    if (path == StatisticsPath::network) told.ghost_packets += ghosts_;
    return told;
  }
  std::uint64_t sends_completed() const { return sends_completed_; }
  std::uint64_t receives_completed() const { return receives_completed_; }

 private:
  std::array<MessageStatistics, 3> paths_{};
  std::uint64_t ghosts_ = 0, sends_completed_ = 0, receives_completed_ = 0;
};

}  // namespace openlapi
