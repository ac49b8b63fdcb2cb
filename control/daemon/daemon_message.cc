#include "control/daemon/daemon_message.h"

#include "control/daemon/message_codec.h"

namespace openlapi::daemon {
namespace {

bool is_possible(const DaemonMessage& message) {
  if (const auto* job = std::get_if<JobMessage>(&message)) {
    return job->action >= JobAction::kStart && job->action <= JobAction::kBroken;
  }
  const auto* universe = std::get_if<UniverseMessage>(&message);
  if (universe == nullptr) return true;
  for (const UniverseNode& node : universe->nodes) {
    if (node.state > NodeState::kLost || node.port > 65535) return false;
  }
  return universe->here < universe->nodes.size();
}

}  // namespace

MessageBytes encode(const DaemonMessage& message) {
  MessageBytes bytes{kMessageVersion};
  append_kind(message, bytes);
  return bytes;
}

std::optional<DaemonMessage> decode(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2 || bytes[0] != kMessageVersion) return std::nullopt;
  auto message = decode_kind<DaemonMessage>(bytes.subspan(1));
  return message && is_possible(*message) ? message : std::nullopt;
}

}  // namespace openlapi::daemon
