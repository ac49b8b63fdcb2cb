// What af_packet's driver leaves in its send ring: it asks the kernel once for each burst to send what is there, and of
// more than the socket may have on its way (SO_SNDBUF) the kernel leaves the rest until it is asked again.
#pragma once

#include <cstdint>
#include <string>

namespace openlapi::dpdk {

class PacketRing {
 public:
  // The driver has a socket on the interface, which outlives this object's use, and sends frames of up to `mtu` bytes.
  void find(const std::string& interface, std::uint32_t mtu);

  // The driver has taken so many frames.
  void sent(std::uint32_t frames) {
    if (socket_ < 0) return;
    since_look_ += frames;
    if (since_look_ >= look_after_) look();
  }
  bool may_hold_frames() const { return may_hold_frames_; }
  // Asks the kernel to send what is left.
  void push();

 private:
  void look();
  bool is_half_empty() const;

  int socket_ = -1;               // the driver's; -1: the port has none
  int most_on_way_ = 0;           // bytes, as the kernel counts them
  std::uint32_t look_after_ = 0;  // frames that fill half of that
  std::uint32_t since_look_ = 0;  // frames since no more than half was on its way
  bool may_hold_frames_ = false;
};

}  // namespace openlapi::dpdk
