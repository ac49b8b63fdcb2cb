// Cuts a stream of bytes into messages. Passive: bytes in, messages out, and the reverse.
//
// Before each message goes its length (4 bytes, little-endian).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>

#include "control/daemon/messages/message_fields.h"

namespace openlapi::daemon {

inline constexpr std::size_t kLongestMessage = 4 << 20;  // the universe of 40,000 nodes with long names

class MessageStream {
 public:
  MessageStream() = default;
  virtual ~MessageStream() = default;
  MessageStream(const MessageStream&) = delete;
  MessageStream& operator=(const MessageStream&) = delete;

  // False: what came is no message, and nothing more is taken.
  virtual bool take(std::span<const std::uint8_t> bytes);
  virtual void send(MessageBytes message);
  // What came was no message, or not from whom it should come.
  bool is_broken() const { return broken_; }
  // Messages are believed to come from the other end that was meant.
  virtual bool is_trusted() const { return true; }

  // The next message that has come whole.
  std::optional<MessageBytes> next();
  // What is to be written; the caller erases what has gone.
  MessageBytes& outgoing() { return outgoing_; }

 protected:
  MessageBytes incoming_{};
  MessageBytes outgoing_{};
  std::deque<MessageBytes> messages_{};
  bool broken_ = false;

 private:
  // How long the next message is; nothing: not there yet, or longer than kLongestMessage, which ends all.
  std::optional<std::size_t> message_length();
};

}  // namespace openlapi::daemon
