#include "control/daemon/messages/message_stream.h"

#include <utility>

namespace openlapi::daemon {

std::optional<std::size_t> MessageStream::frame_length(std::size_t most) {
  if (broken_ || incoming_.size() < 4) return std::nullopt;
  std::size_t length = 0;
  for (int n = 3; n >= 0; --n) length = length << 8 | incoming_[static_cast<std::size_t>(n)];
  broken_ = length > most;
  return broken_ ? std::nullopt : std::optional(length);
}

void MessageStream::append_length(MessageBytes& bytes, std::size_t length) {
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<std::uint8_t>(length >> shift));
}

bool MessageStream::take(std::span<const std::uint8_t> bytes) {
  if (broken_) return false;
  incoming_.insert(incoming_.end(), bytes.begin(), bytes.end());
  while (const auto length = frame_length(kLongestMessage)) {
    if (incoming_.size() < 4 + *length) break;
    const auto begin = incoming_.begin() + 4;
    const auto end = begin + static_cast<std::ptrdiff_t>(*length);
    messages_.emplace_back(begin, end);
    incoming_.erase(incoming_.begin(), end);
  }
  return !broken_;
}

void MessageStream::send(MessageBytes message) {
  append_length(outgoing_, message.size());
  outgoing_.insert(outgoing_.end(), message.begin(), message.end());
}

std::optional<MessageBytes> MessageStream::next() {
  if (messages_.empty()) return std::nullopt;
  MessageBytes message = std::move(messages_.front());
  messages_.pop_front();
  return message;
}

}  // namespace openlapi::daemon
