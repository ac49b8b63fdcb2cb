// The network availability matrix with sockets: watches the adapters of this node, tells all daemons what becomes of
// them, and tools and tasks what becomes of all. Tasks have a page that tells them, and are woken over the connections
// by which they came.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "control/base/deadline.h"
#include "control/base/poll_set.h"
#include "control/daemon/adapters/adapter_doubts.h"
#include "control/daemon/adapters/adapter_page_writer.h"
#include "control/daemon/adapters/adapter_table.h"
#include "control/daemon/adapters/look_times.h"
#include "control/daemon/adapters/row_news.h"
#include "control/daemon/messages/tree_forwarder.h"
#include "control/daemon/service/connected_tools.h"
#include "control/daemon/service/peer_links.h"
#include "nic/links/kernel_links.h"

namespace openlapi::daemon {

class AdapterServer {
 public:
  // `session`: the path of this daemon's folder.
  AdapterServer(const UniverseTable& universe, PeerLinks& links, ConnectedTools& tools, const std::string& session);

  // A message from a tool. False: it is about something else.
  bool take(std::uint64_t tool, const DaemonMessage& message);
  void tool_gone(std::uint64_t tool) { waiting_.erase(tool); }
  // A tool that wants to follow what becomes of the adapters is a task from now on.
  void add_task(Connection connection);

  // The other side of a new link is to know all that is known here.
  void neighbour_linked(std::uint32_t neighbour);
  void from_neighbour(std::uint32_t neighbour, const AdaptersMessage& message);
  void from_neighbour(const DoubtMessage& message) { forwarder_.forward(message); }
  void rows_taken(std::uint32_t neighbour) { news_.taken(neighbour); }
  void node_changed(std::uint32_t node);

  void watch(PollSet& poll_set);
  void tick(Time now);
  std::optional<Time> deadline() const { return earliest({look_times_.next(), doubts_.deadline()}); }

 private:
  struct Task {
    Connection connection;
    bool over = false;
  };
  void look(Time now, bool was_told);
  void set_own(std::vector<AdapterStatus> adapters);
  void take_report(const PathReport& report);
  void answer(std::uint64_t tool, const MatrixRequest& request);
  void tell_changes();
  void serve_task(Task& task);

  const UniverseTable& universe_;
  PeerLinks& links_;
  ConnectedTools& tools_;
  KernelLinks kernel_{};
  AdapterTable table_;
  RowNews news_;
  AdapterDoubts doubts_;
  TreeForwarder<DoubtMessage> forwarder_;
  std::map<MessageBytes, Time> told_doubts_{};  // by address: no doubt about it is passed on before
  LookTimes look_times_{};
  bool has_ports_ = false;
  std::map<std::uint64_t, MatrixRequest> waiting_{};  // by tool
  std::unique_ptr<AdapterPageWriter> page_{};         // null: it cannot be had
  std::list<Task> tasks_{};
};

}  // namespace openlapi::daemon
