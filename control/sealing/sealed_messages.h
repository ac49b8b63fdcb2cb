// Messages between two processes that hold the same key, over a stream of bytes that others can read and change. Nobody
// on the way can read a message, nor change, repeat, leave out, reorder or insert one: whatever does not come as it was
// sent breaks the connection. Only how many bytes go when can be seen. Passive: bytes in, bytes out.
//
//   both, at once     "LAMS"  version(1) = 1  purpose(1)  0(2)  nonce(32)
//   both, then        messages: sealed length(4 + 16)  sealed message(length + 16; nothing when it is empty)
//
// Lengths are little-endian. The keys are made from the common key, the hello of the side that connected and that of
// the one that accepted, in this order, and the sender's role (sealed_direction.h). The first message is empty: with it
// a side has proved that it holds the key. Nothing else is sent before the other side has proved it; of one that has
// not, no more than a hello and this message are kept, 60 bytes. Lengths are sealed by themselves, so that nobody on
// the way can make a side wait for bytes that never come.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "control/sealing/sealed_direction.h"

namespace openlapi::sealing {

enum class Role : std::uint8_t { kConnects, kAccepts };

// What a connection is for; the two sides have to mean the same.
enum class Purpose : std::uint8_t {
  kDaemonInfo = 1,  // a daemon reports to the booting agent
  kUniverse = 2,    // the agent tells a daemon the universe
  kTree = 3,        // a helper of the tree algorithm and who started it
  kNeighbours = 4,  // daemons of a universe
};

inline constexpr std::size_t kHelloBytes = 40;
inline constexpr std::size_t kSealedLengthBytes = 4 + kSealBytes;
inline constexpr std::size_t kBytesBeforeProof = kHelloBytes + kSealedLengthBytes;

class SealedMessages {
 public:
  // `longest`: the longest message that is taken. Throws std::runtime_error: libcrypto does not work.
  SealedMessages(const Key& key, Role role, Purpose purpose, std::size_t longest);

  // False: it is broken, for good; nothing more is taken.
  bool take(std::span<const std::uint8_t> bytes);
  // Sealed at once, or as soon as the other side has proved that it holds the key.
  void send(std::span<const std::uint8_t> message);
  // The next message that has come whole.
  std::optional<Bytes> next();
  // The longest message that is taken from now on; not of one that has begun to come.
  void allow(std::size_t longest) { longest_ = longest; }

  // The other side has proved that it holds the key.
  bool is_proven() const { return stage_ > Stage::kProof; }
  bool is_broken() const { return broken_; }
  // What is to be written; the caller erases what has gone.
  Bytes& outgoing() { return outgoing_; }

 private:
  enum class Stage : std::uint8_t { kHello, kProof, kLength, kMessage };
  void take_piece();
  bool is_hello_possible() const;
  void take_hello();
  void take_length();
  void take_message();
  void await(Stage stage, std::size_t bytes);
  void queue(std::span<const std::uint8_t> message);

  Key key_;
  Role role_;
  std::size_t longest_;
  Bytes own_hello_{};
  std::optional<SealedDirection> in_{}, out_{};
  Stage stage_ = Stage::kHello;
  std::size_t wanted_ = kHelloBytes;  // until the piece that is being taken is whole
  Bytes piece_{};
  Bytes outgoing_{};
  std::deque<Bytes> held_{};  // until the other side is proven
  std::deque<Bytes> messages_{};
  bool broken_ = false;
};

}  // namespace openlapi::sealing
