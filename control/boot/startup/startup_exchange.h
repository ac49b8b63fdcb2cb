// One message from a client to a server and the server's answer, sealed: each knows that the other holds the same key
// before it says anything (control/sealing/sealed_messages.h). Passive: bytes in, bytes out.
//
//   client  the message
//   server  one byte: 1 when it has taken the message, 0 when it refuses it
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "control/sealing/sealed_messages.h"

namespace openlapi::boot {

using StartupKey = sealing::Key;
using StartupBytes = sealing::Bytes;
using StartupKind = sealing::Purpose;

class StartupExchange {
 public:
  enum class State {
    kGoesOn,
    kPayload,  // a server has the whole message: accept() or refuse() follows
    kDone,     // a client's message was taken
    kRefused,  // a client's message was not
    kBroken,   // what came was not sealed by whoever holds the key
  };

  // Of a client, which has something to send at once; of a server.
  StartupExchange(const StartupKey& key, StartupKind kind, const StartupBytes& payload);
  StartupExchange(const StartupKey& key, StartupKind kind, std::size_t longest_payload);

  // Takes all bytes.
  State take(std::span<const std::uint8_t> bytes);
  // Server: the payload is good, or not; tells the client.
  void accept() { sealed_.send(kTaken); }
  void refuse() { sealed_.send(kRefusal); }

  State state() const { return state_; }
  const StartupBytes& payload() const { return payload_; }
  bool is_proven() const { return sealed_.is_proven(); }
  // What is to be sent; the caller erases what has gone.
  StartupBytes& outgoing() { return sealed_.outgoing(); }
  // After the exchange: what else the two ends have to tell each other.
  sealing::SealedMessages take_sealed() { return std::move(sealed_); }

 private:
  static constexpr std::uint8_t kTaken[] = {1};
  static constexpr std::uint8_t kRefusal[] = {0};

  bool is_client_;
  State state_ = State::kGoesOn;
  sealing::SealedMessages sealed_;
  StartupBytes payload_{};
};

}  // namespace openlapi::boot
