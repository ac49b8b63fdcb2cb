// What lamgrow and lamshrink ask of this daemon. Answers may come much later than questions; a tool is known by a
// number that the server of tools gives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>

#include "control/daemon/membership/membership.h"
#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/sealed_stream.h"

namespace openlapi::daemon {

class NodeChanges {
 public:
  using Answer = std::function<void(std::uint64_t tool, const DaemonMessage& message)>;

  NodeChanges(const UniverseTable& table, Membership& membership, const BootKey& key, bool promiscuous, Answer answer)
      : table_(table), membership_(membership), key_(key), promiscuous_(promiscuous), answer_(std::move(answer)) {}

  // False: that is no such question.
  bool take(std::uint64_t tool, const DaemonMessage& message);
  void tool_gone(std::uint64_t tool);

  // As the membership tells.
  void node_joined(std::uint32_t node);
  void node_changed(std::uint32_t node);

 private:
  void take_request(std::uint64_t tool);
  void grow(std::uint64_t tool, const NodeRecord& record);
  void shrink(std::uint64_t tool, const ShrinkMessage& message);
  void settle(std::uint64_t tool, const std::string& failure);
  void settle_growth(const std::string& failure);

  const UniverseTable& table_;
  Membership& membership_;
  BootKey key_;
  bool promiscuous_;
  Answer answer_;
  std::optional<std::uint64_t> grower_{};               // one at a time
  std::optional<std::uint32_t> joining_{};              // the node that it has booted
  std::map<std::uint64_t, std::uint32_t> shrinkers_{};  // which node each waits for
};

}  // namespace openlapi::daemon
