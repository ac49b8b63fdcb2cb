// The network tables of this node, with sockets: tools that load and read them, and the tasks that hold windows, each
// over the connection by which it came. A task's windows are free again when its connection ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <list>
#include <optional>

#include "control/base/poll_set.h"
#include "control/daemon/messages/connection.h"
#include "control/daemon/messages/tree_forwarder.h"
#include "control/daemon/service/connected_tools.h"
#include "control/daemon/service/job_server.h"
#include "control/daemon/service/peer_links.h"
#include "control/daemon/tables/address_exchange.h"
#include "control/daemon/tables/network_questions.h"
#include "control/daemon/tables/network_tables.h"

namespace openlapi::daemon {

class NetworkServer {
 public:
  // Where a node is to be cleaned, the processes of `jobs` end first; jobs_ended() follows, once or more often.
  NetworkServer(const UniverseTable& universe, PeerLinks& links, JobServer& jobs, ConnectedTools& tools);

  // A message from a tool. False: it is about something else.
  bool take(std::uint64_t tool, const DaemonMessage& message) { return questions_.take(tool, message); }
  void tool_gone(std::uint64_t tool) { questions_.tool_gone(tool); }
  void jobs_ended();
  // A tool that has asked for windows is a task from now on.
  void add_task(Connection connection, const OpenWindows& asked);
  void from_neighbour(const NetworkMessage& message) { forwarder_.forward(message); }
  void node_lost(std::uint32_t node);

  void watch(PollSet& poll_set);
  // Frees what ended tasks held, lets waiting messages go.
  void tick(Time now);
  std::optional<Time> deadline() const { return questions_.deadline(); }

 private:
  struct Task {
    Connection connection;
    std::uint64_t table = 0;  // identity
    std::uint32_t task = 0;
    std::uint32_t round = 0;  // of its last exchange
    bool waits = false;       // for the end of that
    bool over = false;        // once all that it is told is written
  };
  void send(const std::vector<std::uint32_t>& nodes, std::uint32_t number, const NetworkAction& action);
  void deliver(const NetworkMessage& message);
  void answer(const NetworkMessage& question, const NodeAnswer& answer);
  void tell_tasks(const AddressExchange::Id& exchange, const AddressesMessage& message);
  void serve_task(Task& task);
  void take_messages(Task& task);
  bool take_addresses(Task& task, const MessageBytes& bytes);
  void close_ended_tasks();
  NodeAnswer unload_all();

  const UniverseTable& universe_;
  JobServer& jobs_;
  NetworkTables tables_;
  TreeForwarder<NetworkMessage> forwarder_;
  AddressExchange exchange_;
  NetworkQuestions questions_;
  std::list<Task> tasks_{};
  std::vector<NetworkMessage> cleanings_{};  // questions that wait for the end of jobs
};

}  // namespace openlapi::daemon
