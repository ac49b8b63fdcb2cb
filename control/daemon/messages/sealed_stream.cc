#include "control/daemon/messages/sealed_stream.h"

#include <utility>

namespace openlapi::daemon {

SealedStream::SealedStream(const BootKey& key, Role role)
    : frames_(key, role, sealing::Purpose::kNeighbours, kLongestMessage) {
  take_outgoing();
}

void SealedStream::take_outgoing() {
  MessageBytes bytes = std::exchange(frames_.outgoing(), {});
  if (outgoing_.empty()) {
    outgoing_ = std::move(bytes);
  } else {
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
  }
}

bool SealedStream::take(std::span<const std::uint8_t> bytes) {
  broken_ = !frames_.take(bytes);
  while (auto message = frames_.next()) messages_.push_back(std::move(*message));
  take_outgoing();
  return !broken_;
}

void SealedStream::send(MessageBytes message) {
  frames_.send(message);
  take_outgoing();
}

}  // namespace openlapi::daemon
