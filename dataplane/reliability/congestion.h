// How many bytes one channel may have in flight: doubles per round trip until the first loss, grows by a packet per
// round trip afterwards, is halved on a loss (once per window) and falls to the least on a time-out. A cut that
// turns out to have been for nothing (the peer had the packet already) is taken back. Bounded, so that many senders
// to one receiver cannot make a standing overload.
#pragma once

#include <cstdint>

namespace openlapi {

class Congestion {
 public:
  Congestion(std::uint32_t max_packet, std::uint64_t most_bytes);

  std::uint64_t window() const { return window_; }  // bytes

  // `bytes` were acknowledged while `in_flight` (before the acknowledgement) were out. A window that was not used does
  // not grow.
  void on_acknowledged(std::uint64_t bytes, std::uint64_t in_flight);
  void on_loss();
  void on_timeout();
  // The retransmission since the last cut was not needed.
  void on_spurious_retransmission();

  std::uint64_t threshold() const { return threshold_; }  // where doubling ends

 private:
  void remember();

  std::uint32_t max_packet_;
  std::uint64_t least_;
  std::uint64_t most_;
  std::uint64_t window_;
  std::uint64_t threshold_;
  std::uint64_t acknowledged_ = 0;   // bytes towards the next step of one packet
  std::uint64_t window_before_ = 0;  // before the last cut; 0: there is nothing to take back
  std::uint64_t threshold_before_ = 0;
};

}  // namespace openlapi
