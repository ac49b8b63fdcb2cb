#include "control/daemon/messages/message_stream.h"

#include <utility>

#include "dataplane/base/byte_codec.h"

namespace openlapi::daemon {

std::optional<std::size_t> MessageStream::message_length() {
  if (broken_ || incoming_.size() < 4) return std::nullopt;
  const std::size_t length = ByteReader(incoming_).number();
  broken_ = length > kLongestMessage;
  return broken_ ? std::nullopt : std::optional(length);
}

bool MessageStream::take(std::span<const std::uint8_t> bytes) {
  if (broken_) return false;
  incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
  while (const auto length = message_length()) {
    if (incoming_.size() < 4 + *length) break;
    const auto begin = incoming_.begin() + 4;
    const auto end = begin + static_cast<std::ptrdiff_t>(*length);
    messages_.emplace_back(begin, end);
    incoming_.erase(incoming_.begin(), end);
  }
  return !broken_;
}

void MessageStream::send(MessageBytes message) { append_counted(outgoing_, message); }

std::optional<MessageBytes> MessageStream::next() {
  if (messages_.empty()) return std::nullopt;
  MessageBytes message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace openlapi::daemon
