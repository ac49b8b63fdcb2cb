// The tools that ask this daemon something, over the session's Unix socket.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <set>

#include "control/base/poll_set.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/membership/node_changes.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

class ToolServer {
 public:
  using Clock = std::chrono::steady_clock;
  // What tools ask of the daemon's other parts.
  struct Wishes {
    std::function<void(std::chrono::milliseconds limit)> halt{};
    std::function<JobsMessage()> jobs{};
    std::function<void(Connection, const JobMessage&)> become_lapirun{};  // takes the tool's connection
    std::function<void(Connection, const OpenWindows&)> become_task{};    // the same
    // About network tables; false: it is about something else.
    std::function<bool(std::uint64_t, const DaemonMessage&)> network{};
    std::function<void(std::uint64_t)> tool_gone{};
  };
  ToolServer(FileDescriptor listener, const UniverseTable& table, Wishes wishes)
      : listener_(std::move(listener)), table_(table), wishes_(std::move(wishes)) {}

  void serve(NodeChanges& changes) { changes_ = &changes; }
  // To a tool that is not there any more: nothing happens.
  void answer(std::uint64_t tool, const DaemonMessage& message);

  void watch(PollSet& poll_set);
  // When watch() has to be asked anew.
  std::optional<Clock::time_point> deadline() const;
  // Answers what waited for that.
  void universe_linked();
  void halted(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent);
  void tick();
  bool has_outgoing() const;

 private:
  enum class Wish { kNothing, kUniverse, kHalt };
  struct Tool {
    Connection connection;
    std::uint64_t number = 0;
    Wish wish = Wish::kNothing;
    bool over = false;
  };
  void accept_tools();
  void serve_tool(Tool& tool);
  bool take(Tool& tool, const MessageBytes& bytes);
  void tell_universe(Tool& tool);

  FileDescriptor listener_;
  const UniverseTable& table_;
  Wishes wishes_;
  NodeChanges* changes_ = nullptr;
  bool linked_ = false;
  std::uint64_t tools_seen_ = 0;
  Clock::time_point accept_again_{};
  std::list<Tool> tools_{};
};

}  // namespace openlapi::daemon
