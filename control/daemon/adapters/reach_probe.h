// Whether anybody answers over an adapter of this machine: others on its network are asked for a connection to a port
// where nobody listens. A refusal is an answer, too, and costs them nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "control/base/poll_set.h"
#include "control/daemon/messages/adapter_message.h"
#include "dataplane/base/file_descriptor.h"

namespace openlapi::daemon {

inline constexpr std::size_t kMostAsked = 4;
inline constexpr std::chrono::milliseconds kReachProbeTime{500};

class ReachProbe {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // From this address of this interface to the first of those.
  ReachProbe(const std::string& interface, const MessageBytes& from, const std::vector<MessageBytes>& to, Time now);

  void watch(PollSet& poll_set);
  // Somebody has answered, or the time for it is over.
  bool is_over(Time now) const { return answered_ || now >= until_; }
  // Also true if there was nobody to ask: then nothing speaks against the adapter.
  bool is_reachable() const { return answered_; }
  Time deadline() const { return until_; }

 private:
  void take(FileDescriptor& socket);

  std::vector<FileDescriptor> sockets_{};
  Time until_;
  bool answered_ = false;
};

}  // namespace openlapi::daemon
