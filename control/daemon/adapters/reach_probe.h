// Whether anybody answers over an adapter of this machine: others on its network are asked for a connection to a port
// where nobody listens. A refusal is an answer, too, and costs them nothing. All are asked twice: a first question, or
// its answer, is often lost, as where the neighbours of a machine with several adapters have to be found first, and the
// kernel itself would repeat it only after a second.
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
inline constexpr std::chrono::milliseconds kReachProbeAgain{150};  // after the first question

class ReachProbe {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // From this address of this interface to the first of those.
  ReachProbe(const std::string& interface, const MessageBytes& from, const std::vector<MessageBytes>& to, Time now);

  void watch(PollSet& poll_set);
  void tick(Time now);
  // Somebody has answered, or the time for it is over.
  bool is_over(Time now) const { return answered_ || now >= until_; }
  // Also true if there was nobody to ask: then nothing speaks against the adapter.
  bool is_reachable() const { return answered_; }
  Time deadline() const { return asked_again_ ? until_ : again_; }

 private:
  // False: it cannot be asked from here.
  bool ask(const MessageBytes& address);
  void take(FileDescriptor& socket);

  const std::string interface_;
  const MessageBytes from_;
  std::vector<MessageBytes> asked_{};
  std::vector<FileDescriptor> sockets_{};
  Time again_, until_;
  bool asked_again_ = false;
  bool answered_ = false;
};

}  // namespace openlapi::daemon
