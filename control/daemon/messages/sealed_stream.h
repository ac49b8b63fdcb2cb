// The stream between two daemons: messages sealed with the key of the boot (control/sealing/sealed_messages.h).
#pragma once

#include <cstdint>
#include <span>

#include "control/daemon/messages/message_stream.h"
#include "control/sealing/sealed_messages.h"

namespace openlapi::daemon {

using BootKey = sealing::Key;

class SealedStream final : public MessageStream {
 public:
  using Role = sealing::Role;

  // Throws std::runtime_error: libcrypto does not work.
  SealedStream(const BootKey& key, Role role);

  bool take(std::span<const std::uint8_t> bytes) override;
  void send(MessageBytes message) override;
  // The other side has proved that it holds the key.
  bool is_trusted() const override { return sealed_.is_proven(); }

 private:
  void take_outgoing();

  sealing::SealedMessages sealed_;
};

}  // namespace openlapi::daemon
