// The tools that are connected to this daemon, each known by a number, and what they wait for: an answer may come much
// later than the question.
#pragma once

#include <cstdint>
#include <list>
#include <set>

#include "control/daemon/messages/connection.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

struct Tool {
  enum class Awaited : std::uint8_t { kNothing, kUniverse, kHalt };
  Connection connection;
  std::uint64_t number = 0;
  Awaited awaits = Awaited::kNothing;
  bool over = false;
};

class ConnectedTools {
 public:
  explicit ConnectedTools(const UniverseTable& table) : table_(table) {}

  void add(FileDescriptor socket);
  std::list<Tool>& all() { return tools_; }
  std::size_t count() const { return tools_.size(); }
  // Nothing happens if the tool has gone.
  void answer(std::uint64_t tool, const DaemonMessage& message);
  // At once, or when all daemons are linked.
  void ask_universe(Tool& tool, bool wait_until_linked);

  // These answer what waited for that.
  void universe_linked();
  void halted(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent);

  // Something waits to be written to one of them.
  bool has_outgoing() const;

 private:
  void tell_universe(Tool& tool);

  const UniverseTable& table_;
  bool linked_ = false;
  std::uint64_t seen_ = 0;
  std::list<Tool> tools_{};
};

}  // namespace openlapi::daemon
