#include "control/daemon/daemon_message.h"

#include <algorithm>
#include <utility>

namespace openlapi::daemon {
namespace {

// Tries the alternatives of the variant one after the other.
template <std::size_t index = 0>
std::optional<DaemonMessage> decode_kind(std::uint8_t kind, FieldReader& fields) {
  if constexpr (index == std::variant_size_v<DaemonMessage>) {
    return std::nullopt;
  } else {
    using Message = std::variant_alternative_t<index, DaemonMessage>;
    if (kind != Message::kKind) return decode_kind<index + 1>(kind, fields);
    Message message;
    Message::describe(fields, message);
    if (!fields.complete()) return std::nullopt;
    return message;
  }
}

bool is_possible(const UniverseNode& node) { return node.state <= NodeState::kRemoved && node.port <= 65535; }

// Of nodes that there are, or were.
bool is_possible(const NodeRecord& record) {
  return record.number < kMostNodes && record.node.state != NodeState::kInvalid && is_possible(record.node);
}

bool is_possible(const DaemonMessage& message) {
  if (const auto* changed = std::get_if<NodeMessage>(&message)) return is_possible(changed->record);
  if (const auto* grow = std::get_if<GrowMessage>(&message)) return is_possible(grow->record);
  if (const auto* link = std::get_if<LinkMessage>(&message)) {
    return std::ranges::all_of(link->changes, [](const NodeRecord& record) { return is_possible(record); });
  }
  const auto* universe = std::get_if<UniverseMessage>(&message);
  if (universe == nullptr) return true;
  return universe->here < universe->nodes.size() &&
         std::ranges::all_of(universe->nodes, [](const UniverseNode& node) { return is_possible(node); });
}

}  // namespace

MessageBytes encode(const DaemonMessage& message) {
  MessageBytes bytes{kMessageVersion};
  std::visit(
      [&](const auto& known) {
        using Message = std::decay_t<decltype(known)>;
        bytes.push_back(Message::kKind);
        FieldWriter fields(bytes);
        Message::describe(fields, known);
      },
      message);
  return bytes;
}

std::optional<DaemonMessage> decode(std::span<const std::uint8_t> bytes) {
  if (bytes.size() < 2 || bytes[0] != kMessageVersion) return std::nullopt;
  FieldReader fields(bytes.subspan(2));
  auto message = decode_kind(bytes[1], fields);
  return message && is_possible(*message) ? message : std::nullopt;
}

}  // namespace openlapi::daemon
