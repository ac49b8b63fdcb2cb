// Adapters of this node that are up by the kernel's word although somebody has found that nothing comes through. Each
// is probed, and one over which nobody answers is probed again until somebody does.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "control/base/poll_set.h"
#include "control/daemon/adapters/adapter_table.h"
#include "control/daemon/adapters/reach_probe.h"

namespace openlapi::daemon {

class AdapterDoubts {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // The result of probing an adapter of this node.
  using Told = std::function<void(const std::string& adapter, bool is_reachable)>;

  AdapterDoubts(const UniverseTable& universe, const AdapterTable& table, Told told)
      : universe_(universe), table_(table), told_(std::move(told)) {}

  // Somebody says that nothing comes through between this address here and that address of a peer.
  void doubt(const MessageBytes& here, const MessageBytes& there, Time now);

  void watch(PollSet& poll_set);
  void tick(Time now);
  std::optional<Time> deadline() const;

 private:
  struct Doubt {
    std::optional<ReachProbe> probe{};
    MessageBytes here{};   // the adapter's address that is doubted
    MessageBytes first{};  // whom to ask before others
    Time next{};           // no probe begins before
  };
  void begin(const std::string& name, Doubt& doubt, Time now);
  void end(const std::string& name, Doubt& doubt, Time now);
  std::vector<MessageBytes> others(const AdapterAddress& here, const MessageBytes& first) const;
  bool is_unreachable(const std::string& name) const;
  bool is_own(const MessageBytes& address) const;

  const UniverseTable& universe_;
  const AdapterTable& table_;
  const Told told_;
  std::map<std::string, Doubt> doubts_{};  // by adapter
};

}  // namespace openlapi::daemon
