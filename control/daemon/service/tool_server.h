// What tools ask this daemon, over the session's Unix socket: each question goes to the part that it is about.
#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "control/base/poll_set.h"
#include "control/daemon/membership/membership.h"
#include "control/daemon/membership/node_changes.h"
#include "control/daemon/service/adapter_server.h"
#include "control/daemon/service/connected_tools.h"
#include "control/daemon/service/job_server.h"
#include "control/daemon/service/network_server.h"

namespace openlapi::daemon {

class ToolServer {
 public:
  using Clock = std::chrono::steady_clock;
  // The parts that answer the tools' questions.
  struct Parts {
    Membership& membership;
    NodeChanges& changes;
    JobServer& jobs;
    NetworkServer& networks;
    AdapterServer& adapters;
  };
  ToolServer(FileDescriptor listener, ConnectedTools& tools, const Parts& parts)
      : listener_(std::move(listener)), tools_(tools), parts_(parts) {}

  void watch(PollSet& poll_set);
  // When watch() has to be called again.
  std::optional<Clock::time_point> deadline() const;
  void tick();

 private:
  void accept_tools();
  void serve_tool(Tool& tool);
  bool take(Tool& tool, const MessageBytes& bytes);

  FileDescriptor listener_;
  ConnectedTools& tools_;
  Parts parts_;
  Clock::time_point accept_again_{};
};

}  // namespace openlapi::daemon
