// One message from a client to a server that both prove to each other that they hold the same key, and that nobody on
// the way has changed it. Passive: bytes in, bytes out.
//
//   client  "LAM1"  kind(1)  0(3)  client nonce(32)
//   server  server nonce(32)  proof(32)       HMAC-SHA256(key, "server" kind nonces)
//   client  length(4, little-endian)  payload  proof(32)     HMAC-SHA256(key, "client" kind nonces payload)
//   server  proof(32)                         HMAC-SHA256(key, "taken " kind nonces)
//
// A client that does not know the server's proof sends no payload; a server looks at no payload without a proof.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace openlapi::boot {

using StartupKey = std::array<std::uint8_t, 32>;
using StartupBytes = std::vector<std::uint8_t>;

// kTree: a helper of the tree algorithm; the connection goes on afterwards (tree_link.h).
enum class StartupKind : std::uint8_t { kDaemonInfo = 1, kUniverse = 2, kTree = 3 };

// HMAC-SHA256.
StartupKey keyed_hash(const StartupKey& key, std::span<const std::uint8_t> text);

class StartupExchange {
 public:
  enum class State { kGoesOn, kPayload, kDone, kRefused };

  // A client, which has something to send at once; a server.
  StartupExchange(const StartupKey& key, StartupKind kind, StartupBytes payload);
  StartupExchange(const StartupKey& key, StartupKind kind, std::size_t longest_payload);

  // The most bytes that may be taken now: what comes behind a client's last ones is another matter.
  std::size_t wanted() const;
  // Takes all bytes. kPayload: a server has the whole message, and accept() or nothing follows.
  State take(std::span<const std::uint8_t> bytes);
  // Server: the payload is good; tells the client.
  void accept();

  // After kDone or kPayload: a key that only the two ends of this exchange know.
  StartupKey session_key() const { return proof("session", {}); }

  State state() const { return state_; }
  const StartupBytes& payload() const { return payload_; }
  // What is to be sent; the caller erases what has gone.
  StartupBytes& outgoing() { return outgoing_; }

 private:
  using Proof = std::array<std::uint8_t, 32>;
  Proof proof(std::string_view who, std::span<const std::uint8_t> payload) const;
  bool take_proof(std::string_view who, std::span<const std::uint8_t> payload, std::size_t offset) const;
  State refuse() { return state_ = State::kRefused; }
  State take_as_client();
  State take_as_server();
  bool has_hello();
  void send(std::span<const std::uint8_t> bytes) { outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end()); }

  StartupKey key_;
  StartupKind kind_;
  bool is_client_;
  std::size_t longest_ = 0;
  State state_ = State::kGoesOn;
  int step_ = 0;  // messages that were taken
  Proof client_nonce_{}, server_nonce_{};
  StartupBytes incoming_{}, outgoing_{}, payload_{};
};

}  // namespace openlapi::boot
