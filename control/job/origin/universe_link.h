// The nodes of a job over a universe: the tasks are with the helpers of their nodes (lamtasks, node_service.h), and all
// that is said goes over the connection to this node's daemon. Daemons may be lost, and daemons or helpers may hang:
// whoever is awaited for too long is named to the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "control/daemon/messages/connection.h"
#include "control/job/origin/node_link.h"

namespace openlapi::jobs {

class UniverseLink final : public NodeLink {
 public:
  explicit UniverseLink(daemon::Connection connection) : connection_(std::move(connection)) {}

  bool start(StartTasks job, Listener& listener, std::string& error) override;
  void signal(int signal) override;
  void end_tasks() override;
  void tell(std::size_t node, const JobBody& body) override;
  void tell_all(const JobBody& body) override;
  void leave(bool in_order) override;
  bool has_left() const override;

  std::string name_of(std::size_t node) const override;
  bool has_gone(std::size_t node) const override { return nodes_[node].gone; }
  bool carries_input() const override { return true; }

  void watch(PollSet& poll_set) override;
  Deadline deadline() const override { return earliest({present_by_, give_up_at_, complain_at_, leave_by_}); }
  void check() override;

 private:
  using Clock = std::chrono::steady_clock;

  struct Node {
    std::uint32_t number = 0;
    std::string host{};
    bool started = false;
    bool finished = false;
    bool gone = false;
    bool owes_answer = false;  // to AskPresence
  };

  void serve_connection();
  void take(const daemon::JobMessage& message);
  void take_body(std::size_t node, JobBody body);
  void take_end_of_node(std::size_t node, const std::string& why);
  void take_cut_off(std::size_t node, const std::string& why);
  void ask_presence();
  void check_presence();
  void name_late_nodes();
  void give_up(int status, const std::string& silent);
  std::string busy_nodes(bool (*are)(const Node&)) const;
  std::vector<std::uint32_t> all_nodes() const;  // that have not gone
  void send(std::uint8_t action, const std::vector<std::uint32_t>& to, const JobBody& body);

  daemon::Connection connection_;
  bool connected_ = true;
  bool outlive_daemons_ = false;
  Listener* listener_ = nullptr;  // from start() on
  std::vector<Node> nodes_{};
  int ending_signal_ = 0;   // the first
  Deadline present_by_{};   // all nodes, or the job is broken off
  Deadline give_up_at_{};   // waiting for nodes that do not answer
  Deadline complain_at_{};  // of nodes that have not started their tasks
  Deadline leave_by_{};
};

}  // namespace openlapi::jobs
