// Which jobs a daemon has a part in, and where their messages go. A state machine without sockets or processes.
//
//   - Messages go along the tree (tree_forwarder.h).
//   - A job relies on all daemons on the way between its lapirun and its tasks: when one of them is lost, messages may
//     be lost with it: it ends, or what is cut off goes on by itself. Both ends find that out by themselves, from what
//     all daemons are told.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "control/daemon/messages/daemon_message.h"
#include "control/daemon/messages/tree_forwarder.h"
#include "control/daemon/universe/universe_table.h"

namespace openlapi::daemon {

using JobId = std::pair<std::uint32_t, std::uint32_t>;  // home and number

class JobPlaces {
 public:
  virtual ~JobPlaces() = default;
  virtual bool is_linked(std::uint32_t neighbour) const = 0;
  virtual void send(std::uint32_t neighbour, const JobMessage& message) = 0;
  // On this node. What was said to a helper before it was ended still reaches it.
  virtual void start_helper(const JobId& job, const MessageBytes& body) = 0;
  virtual void tell_helper(const JobId& job, const JobMessage& message) = 0;
  virtual void end_helper(const JobId& job) = 0;
  virtual void leave_helper(const JobId& job) = 0;  // lapirun is out of reach: it ends, or its tasks go on
  virtual void tell_lapirun(const JobId& job, const JobMessage& message) = 0;
};

class JobDelivery {
 public:
  JobDelivery(const UniverseTable& table, JobPlaces& places)
      : table_(table),
        places_(places),
        forwarder_(table, {.is_linked = [this](std::uint32_t neighbour) { return places_.is_linked(neighbour); },
                           .send = [this](std::uint32_t neighbour,
                                          const JobMessage& message) { places_.send(neighbour, message); },
                           .deliver = [this](const JobMessage& message) { deliver(message); }}) {}

  // A lapirun has come to this daemon.
  JobId open();
  // A message from it; what is not allowed is dropped.
  void from_lapirun(const JobId& job, JobMessage message);
  void lapirun_gone(const JobId& job);
  void from_helper(const JobId& job, JobMessage message);
  // The helper has ended, or could not be started.
  void helper_gone(const JobId& job, const std::string& why);
  void from_neighbour(const JobMessage& message) { forwarder_.forward(message); }

  // The nodes where a job of a lapirun here has helpers that messages reach.
  std::vector<std::uint32_t> nodes_of(const JobId& job) const;

  // Links have come or gone: messages that wait may go on.
  void go_on() { forwarder_.go_on(); }
  void node_lost(std::uint32_t node);

 private:
  struct Way {
    std::set<std::uint32_t> daemons{};
    bool lost = false;  // lapirun knows; that the node itself is lost, too, is news still
  };
  struct HomeJob {
    std::map<std::uint32_t, Way> ways{};  // to each node with a helper that has not ended
  };

  void deliver(const JobMessage& message);
  void deliver_to_node(const JobId& job, const JobMessage& message);
  void tell_broken(const JobId& job, const std::string& why);
  void tell_of_loss(const JobId& job, HomeJob& home, std::uint32_t node);
  void rely_on_way_to(std::uint32_t node, std::set<std::uint32_t>& relies_on) const;

  const UniverseTable& table_;
  JobPlaces& places_;
  std::uint32_t last_number_ = 0;
  std::map<JobId, HomeJob> at_home_{};
  std::map<JobId, std::set<std::uint32_t>> helpers_{};  // on this node, with what they rely on
  TreeForwarder<JobMessage> forwarder_;
};

}  // namespace openlapi::daemon
