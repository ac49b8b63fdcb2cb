// lamd: the daemon of one node and user. One thread, one loop over poll(): links to its neighbours (peer_links.h),
// tools (tool_server.h), signals. What holds the universe together is membership.h.
#pragma once

#include <csignal>
#include <cstdint>
#include <optional>
#include <set>

#include "control/daemon/membership/membership.h"
#include "control/daemon/membership/node_changes.h"
#include "control/daemon/service/adapter_server.h"
#include "control/daemon/service/connected_tools.h"
#include "control/daemon/service/job_server.h"
#include "control/daemon/service/network_server.h"
#include "control/daemon/service/peer_links.h"
#include "control/daemon/service/tool_server.h"
#include "control/daemon/session/session_folder.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

struct DaemonSetup {
  BootKey key{};
  bool promiscuous = false;
  bool joins = false;      // a universe that is there already
  FileDescriptor agent{};  // of the origin, or a daemon that joins: the connection to what has booted it
  FileDescriptor peer_listener{};
  FileDescriptor tool_listener{};
  FileDescriptor signals{};  // a signalfd of those that end the daemon
};

// Its parts are made one after the other, each from those that it needs. What earlier ones tell later ones goes through
// this class, and only from run() on.
class Daemon final : private MembershipLinks, private NeighbourMessages {
 public:
  // The session's folder is removed when the daemon ends.
  Daemon(UniverseTable table, SessionFolder& session, DaemonSetup setup);

  // Returns when the universe, or this daemon, is to end.
  void run();

 private:
  void connect(std::uint32_t node) override { links_.connect(node); }
  void send(std::uint32_t node, const DaemonMessage& message) override { links_.send(node, message); }
  void close(std::uint32_t node) override { links_.close(node); }
  void universe_linked() override { tools_.universe_linked(); }
  void node_lost(std::uint32_t node) override;
  void node_changed(std::uint32_t node) override;
  void node_joined(std::uint32_t node) override { changes_.node_joined(node); }
  void ended(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) override;

  void from_neighbour(const JobMessage& message) override { jobs_.from_neighbour(message); }
  void from_neighbour(const NetworkMessage& message) override { networks_.from_neighbour(message); }
  void from_neighbour(const DoubtMessage& message) override { adapters_.from_neighbour(message); }
  void from_neighbour(std::uint32_t neighbour, const AdaptersMessage& message) override {
    adapters_.from_neighbour(neighbour, message);
  }
  void adapters_taken(std::uint32_t neighbour) override { adapters_.rows_taken(neighbour); }
  void neighbour_linked(std::uint32_t neighbour) override { adapters_.neighbour_linked(neighbour); }

  void wait_once(std::optional<Time> limit);
  void take_signals();
  void watch_agent(PollSet& poll_set);

  UniverseTable table_;
  SessionFolder& session_;
  FileDescriptor signals_;
  FileDescriptor agent_;
  ConnectedTools tools_;
  Membership membership_;
  PeerLinks links_;
  JobServer jobs_;
  NetworkServer networks_;
  AdapterServer adapters_;
  NodeChanges changes_;
  ToolServer tool_server_;
  bool over_ = false;
  bool cut_off_ = false;  // by the others: jobs may go on
};

}  // namespace openlapi::daemon
