#include "control/daemon/messages/daemon_message.h"

#include <algorithm>

#include "control/daemon/messages/message_codec.h"

namespace openlapi::daemon {
namespace {

bool is_possible(const UniverseNode& node) { return node.state <= NodeState::kRemoved && node.port <= 65535; }

// Of nodes that there are, or were.
bool is_possible(const NodeRecord& record) {
  return record.number < kMostNodes && record.node.state != NodeState::kInvalid && is_possible(record.node);
}

bool is_possible(const std::vector<NodeAdapters>& rows) {
  return std::ranges::all_of(rows, [](const NodeAdapters& row) { return is_possible(row); });
}

bool is_possible(const MatrixMessage& matrix) {
  return is_possible(matrix.rows) && matrix.changes.size() <= kMostChanges &&
         std::ranges::all_of(matrix.changes, [](const AdapterChange& change) {
           return change.node < kMostNodes && is_possible(change.adapter);
         });
}

bool is_possible(const DaemonMessage& message) {
  if (const auto* job = std::get_if<JobMessage>(&message)) {
    return job->action >= JobAction::kStart && job->action <= JobAction::kWayLost;
  }
  if (const auto* changed = std::get_if<NodeMessage>(&message)) return is_possible(changed->record);
  if (const auto* grow = std::get_if<GrowMessage>(&message)) return is_possible(grow->record);
  if (const auto* link = std::get_if<LinkMessage>(&message)) {
    return std::ranges::all_of(link->changes, [](const NodeRecord& record) { return is_possible(record); });
  }
  if (const auto* adapters = std::get_if<AdaptersMessage>(&message)) return is_possible(adapters->rows);
  if (const auto* matrix = std::get_if<MatrixMessage>(&message)) return is_possible(*matrix);
  if (const auto* report = std::get_if<PathReport>(&message)) return is_possible(*report);
  if (const auto* doubt = std::get_if<DoubtMessage>(&message)) return is_possible(*doubt);
  const auto* universe = std::get_if<UniverseMessage>(&message);
  if (universe == nullptr) return true;
  const std::size_t count = universe->nodes.size();
  return universe->here < count && universe->parents.size() == count &&
         std::ranges::all_of(universe->parents, [count](std::uint32_t parent) { return parent < count; }) &&
         std::ranges::all_of(universe->nodes, [](const UniverseNode& node) { return is_possible(node); });
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
