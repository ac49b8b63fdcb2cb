#include "control/daemon/messages/sealed_stream.h"

#include <utility>

namespace openlapi::daemon {

SealedStream::SealedStream(const BootKey& key, Role role)
    : sealed_(key, role, sealing::Purpose::kNeighbours, kLongestMessage) {
  take_outgoing();
}

void SealedStream::take_outgoing() {
  MessageBytes bytes = std::exchange(sealed_.outgoing(), {});
  if (outgoing_.empty()) {
    outgoing_ = std::move(bytes);
  } else {
    outgoing_.insert(outgoing_.end(), bytes.begin(), bytes.end());
  }
}

bool SealedStream::take(std::span<const std::uint8_t> bytes) {
  broken_ = !sealed_.take(bytes);
  while (auto message = sealed_.next()) messages_.push_back(std::move(*message));
  take_outgoing();
  return !broken_;
}

void SealedStream::send(MessageBytes message) {
  sealed_.send(message);
  take_outgoing();
}

}  // namespace openlapi::daemon
