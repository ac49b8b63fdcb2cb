// The stream between two daemons: both prove that they hold the key of the boot, and nobody on the way can change,
// repeat or insert a message. Messages are not secret.
//
//   both, at once     "LAMD"  version(1)  0(3)  nonce(32)
//   both, then        frames: length(4)  message  seal(16)
//
// The seal is the beginning of HMAC-SHA256(K, number of the frame(8) length message), where K is HMAC-SHA256(key of the
// boot, "connects" or "accepts " of the sender, hello of who connected, hello of who accepted). The first frame is
// empty and only proves; nothing else is sent, and no byte of a longer frame kept, before the other side's has come.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "control/daemon/message_stream.h"

namespace openlapi::daemon {

using BootKey = std::array<std::uint8_t, 32>;

class SealedStream final : public MessageStream {
 public:
  enum class Role { kConnects, kAccepts };

  // Throws std::runtime_error: libcrypto does not work.
  SealedStream(const BootKey& key, Role role);

  bool take(std::span<const std::uint8_t> bytes) override;
  void send(MessageBytes message) override;
  // The other side has proved that it holds the key.
  bool is_trusted() const override { return proven_; }

 private:
  struct Direction {
    std::array<std::uint8_t, 32> key{};
    std::uint64_t frames = 0;
  };
  static std::array<std::uint8_t, 16> seal(const Direction& direction, std::span<const std::uint8_t> frame);
  void take_hello();
  bool take_frame();
  void seal_and_queue(std::span<const std::uint8_t> message);

  BootKey boot_key_;
  Role role_;
  MessageBytes own_hello_{};
  Direction in_{}, out_{};
  bool greeted_ = false;
  bool proven_ = false;
  std::vector<MessageBytes> held_{};  // until the other side is proven
};

}  // namespace openlapi::daemon
