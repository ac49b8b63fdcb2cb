// How many bytes one channel may have in flight. The window doubles per round trip until the first loss and then grows
// by one packet per round trip. A loss halves it (once per window), a time-out reduces it to the minimum. A reduction
// that turns out to be unnecessary, because the peer already had the packet, is undone. The window is bounded, so that
// many senders to one receiver cannot keep up an overload.
#pragma once

#include <cstdint>

namespace openlapi {

class Congestion {
 public:
  Congestion(std::uint32_t max_packet, std::uint64_t most_bytes);

  std::uint64_t window() const { return window_; }  // bytes

  // `bytes` were acknowledged; `in_flight` is what was out before that. A window that was not used does not grow. True:
  // it has grown.
  bool on_acknowledged(std::uint64_t bytes, std::uint64_t in_flight);
  void on_loss();
  void on_timeout();
  // The retransmission since the last reduction was not needed.
  void on_spurious_retransmission();

  std::uint64_t threshold() const { return threshold_; }  // where doubling ends

 private:
  void remember();

  std::uint32_t max_packet_;
  std::uint64_t least_;
  std::uint64_t most_;
  std::uint64_t window_;
  std::uint64_t threshold_;
  std::uint64_t acknowledged_ = 0;   // bytes towards the next growth by one packet
  std::uint64_t window_before_ = 0;  // the window before the last reduction; 0: nothing to undo
  std::uint64_t threshold_before_ = 0;
};

}  // namespace openlapi
