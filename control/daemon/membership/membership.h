// How the daemons of a universe hold together: who is linked with whom, what happens when one is lost, and how all end.
// A state machine without sockets: links and messages go in, calls of MembershipLinks come out; the clock is given.
//
//   - Each daemon connects to its parent in the tree (universe_table.h). When its children have said Ready and it is
//     linked to its parent, it says Ready upwards; from the root Ready comes back down. A daemon so sends and gets two
//     messages a neighbour, however large the universe is.
//   - A link that breaks means that the daemon at its other end is lost; so does a parent that refuses the connection,
//     and a child that does not come within kJoinTime. Every daemon is told once, over the tree. Daemons whose parent
//     is lost connect to its next living ancestor. Who hears that it is taken for lost itself ends: it cannot come
//     back.
//     Before all are linked a daemon that loses the origin ends instead: the boot is over for it, and perhaps the one
//     link that fails is its own. The origin ends when its booting agent does so before, and all others with it.
//   - A node joins through its sponsor, which tells all and connects to its daemon; that waits for this, as long as the
//     agent that has booted it is there, learns with the link what it has to know, and says Ready. A sponsor that does
//     not reach it, or loses it before that, removes the node again.
//   - A node leaves when it hears that it is to: it tells all that it is removed, and ends. A node that does not can be
//     removed by force; a lost one can be, too.
//   - Halt spreads over the tree from the daemon that a tool asked; Halted comes back with the nodes whose daemons have
//     ended, and those that said nothing. At each it waits until its neighbours have come, so that it reaches all, but
//     no longer than half of its time. A daemon that is stopped is not lost: nobody waits for it longer than the tool
//     said. Each daemon gives those behind it 7/8 of the time that it has left, so that it hears of those that have
//     ended beside one that is silent.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

using Time = std::chrono::steady_clock::time_point;

inline constexpr std::chrono::seconds kJoinTime{30};
inline constexpr std::chrono::seconds kHaltTime{10};

class MembershipLinks {
 public:
  virtual ~MembershipLinks() = default;
  // Begins to connect; ends in Membership::link_up or connect_failed.
  virtual void connect(std::uint32_t node) = 0;
  virtual void send(std::uint32_t node, const DaemonMessage& message) = 0;
  // Ends the connection once what was sent has gone, or the attempt to connect. No link_down or connect_failed follows.
  virtual void close(std::uint32_t node) = 0;
  // All daemons of the universe are linked.
  virtual void universe_linked() = 0;
  virtual void node_lost(std::uint32_t node) = 0;
  // What the table says of the node has changed.
  virtual void node_changed(std::uint32_t node) = 0;
  // The daemon of a node that this one sponsors is there and linked.
  virtual void node_joined(std::uint32_t node) = 0;
  // This daemon has nothing left to do. `nodes`: whose daemons have ended, this one included; none: the others take it
  // for lost, or nobody has connected to it. `silent`: whoever was to end and has not answered its neighbour.
  virtual void ended(const std::set<std::uint32_t>& nodes, const std::set<std::uint32_t>& silent) = 0;
};

class Membership {
 public:
  // `joins`: the universe was there before this daemon, whose sponsor will connect. `clock` says what time it is: a
  // limit that is set after a long silence must not be over at once.
  Membership(UniverseTable& table, MembershipLinks& links, std::function<Time()> clock, bool joins = false);

  void start();
  // The daemon of `node` is at the other end of a link, and has said what it knows. False: close it.
  bool link_up(std::uint32_t node, const std::vector<NodeRecord>& changes);
  void link_down(std::uint32_t node);
  void connect_failed(std::uint32_t node);
  void take(std::uint32_t from, const DaemonMessage& message);
  // A tool wants the universe to end, and waits up to `limit` for daemons that are silent.
  void halt(std::chrono::milliseconds limit = kHaltTime);
  // A tool has booted a daemon for a node: number, address, port and what users see of it are in the record.
  void grow(NodeRecord record);
  // A tool wants a node to leave, after so many seconds.
  void shrink(std::uint32_t node, std::uint32_t grace);
  // Removes a node at once, whether its daemon hears of it or not.
  void remove(std::uint32_t node);

  // This daemon is of no use once its booting agent has gone: it joins, and nobody will connect to it any more; or it
  // is the origin, and nobody else will end a universe that is not whole.
  bool needs_agent() const;
  void agent_gone();

  // When to call tick(); nothing: it has nothing to do.
  std::optional<Time> deadline() const;
  void tick(Time now);

  bool is_linked() const { return linked_; }
  bool is_over() const { return over_; }
  // It joins, and its sponsor has not connected.
  bool is_joining() const { return join_until_.has_value(); }

 private:
  struct Neighbour {
    bool ready = false;  // a child: all below it are linked; the parent: all are
    bool told_ready = false;
  };

  // These end in go_on() of the caller.
  void lose(std::uint32_t node);
  void change(std::uint32_t node, std::uint8_t state);
  void learn(const NodeRecord& record, std::optional<std::uint32_t> from);
  void look_at_own_node(const UniverseNode& before);
  void drop(std::uint32_t node);
  void give_up();
  void leave();
  // After a change: connects to a new parent, says what has become true.
  void go_on();
  void find_parent();
  void await_children();
  void say_ready();
  bool is_complete() const;
  void ask_to_halt(std::optional<std::uint32_t> from, std::chrono::milliseconds limit);
  void spread_halt();
  void tell_halt(std::uint32_t node);
  void check_ended();
  void send_to_all(const DaemonMessage& message, std::optional<std::uint32_t> except);

  UniverseTable& table_;
  MembershipLinks& links_;
  const std::function<Time()> clock_;
  std::map<std::uint32_t, Neighbour> neighbours_{};
  std::map<std::uint32_t, Time> awaited_{};  // children that have not come, and until when they may
  std::optional<std::uint32_t> connecting_{};
  std::set<std::uint32_t> sponsored_{};  // nodes that have joined, and this daemon is to connect to
  const bool joins_;
  std::optional<Time> join_until_{};  // of a daemon that joins: nobody has connected yet
  std::optional<Time> leave_at_{};
  bool linked_ = false;
  bool over_ = false;

  bool halt_asked_ = false;
  bool halting_ = false;
  std::optional<std::uint32_t> halt_from_{};  // nothing: from a tool
  std::optional<Time> halt_spread_by_{}, halt_until_{};
  std::set<std::uint32_t> halt_heard_{};    // neighbours that end, too
  std::set<std::uint32_t> halt_awaited_{};  // neighbours that have been told and are still there
  std::set<std::uint32_t> halted_{};        // nodes whose daemons have ended
  std::set<std::uint32_t> halt_silent_{};   // nodes that have not come, or have not answered, here or to those behind
};

}  // namespace openlapi::daemon
