// Cuts a stream of bytes into messages. Passive: bytes in, messages out, and the reverse.
//
// A frame is the length of the message (4 bytes, little-endian) and the message.
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

  // False: what came is no frame, and nothing more is taken.
  virtual bool take(std::span<const std::uint8_t> bytes);
  virtual void send(MessageBytes message);
  // What came was no frame, or not of who it should come from.
  bool is_broken() const { return broken_; }
  // Messages may be believed to come from who they should.
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
  std::optional<std::size_t> frame_length();
};

}  // namespace openlapi::daemon
