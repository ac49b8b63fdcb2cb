// The nodes of a job over a universe: the tasks are with the helpers of their nodes (lamtasks, node_service.h), and all
// that is said goes over the connection to this node's daemon. Daemons may be lost, and daemons or helpers may hang:
// whoever is awaited for too long is named to the user.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "control/daemon/messages/connection.h"
#include "control/job/messages/counted_messages.h"
#include "control/job/origin/helper_returns.h"
#include "control/job/origin/node_link.h"

namespace openlapi::jobs {

class UniverseLink final : public NodeLink {
 public:
  using Clock = std::chrono::steady_clock;
  using Now = Clock::time_point (*)();

  // `address`: by which the universe knows this node.
  UniverseLink(daemon::Connection connection, std::uint32_t address, Now now = Clock::now)
      : connection_(std::move(connection)), address_(address), now_(now) {}

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
  Deadline deadline() const override;
  void check() override;

 private:
  // Nodes end their tasks within 2 s; whoever needs longer hangs.
  static constexpr std::chrono::seconds kEndTime{10};

  struct Node {
    std::uint32_t number = 0;
    std::string host{};
    bool started = false;
    bool finished = false;
    bool gone = false;
    bool owes_answer = false;      // to AskPresence
    bool has_lost_daemon = false;  // nothing goes there by the daemons any more, nor comes
    bool goes_on_alone = false;    // given up: its tasks are left to themselves
    Deadline return_by{};          // its helper is awaited
    CountedMessages counted{};
    daemon::Connection own_way{{}, nullptr};  // open once its helper has returned
  };

  // universe_link.cc
  void take_body(std::size_t node, const MessageBytes& bytes);
  void take_end_of_node(std::size_t node, const std::string& why);
  void ask_presence();
  void check_presence();
  void name_late_nodes();
  void check_end();
  void give_up(int status, const std::string& silent);
  std::string busy_nodes(bool (*are)(const Node&)) const;
  std::vector<std::size_t> all_places() const;
  std::optional<std::size_t> place_of(std::uint32_t number) const;
  void tell_nodes(const std::vector<std::size_t>& places, const JobBody& body);
  void send(std::uint8_t action, const std::vector<std::uint32_t>& to, const MessageBytes& body);
  void answer(Node& node, const JobBody& body);
  // For all that are reached: their part of the job is over.
  void end_helpers();

  // universe_link_lost.cc
  void serve_connection();
  void take(const daemon::JobMessage& message);
  void lose_daemon(std::size_t node, std::chrono::seconds return_time);
  void hurry(Node& node);
  void note_loss(const std::string& why);
  void take_return(const Return& who, daemon::Connection way);
  void serve_way(std::size_t node);
  void pass(std::size_t from, Passed message);
  void give_up_returns();

  daemon::Connection connection_;
  const std::uint32_t address_;
  const Now now_;
  bool connected_ = true;
  bool broken_ = false;  // the daemon here has ended the job
  bool leaving_ = false;
  bool outlive_daemons_ = false;
  Listener* listener_ = nullptr;  // from start() on
  std::vector<Node> nodes_{};
  HelperReturns returns_{};
  const HelperReturns::Came returned_ = [this](const Return& who, daemon::Connection way) {
    take_return(who, std::move(way));
  };
  bool goes_through_here_ = false;  // what helpers tell each other
  std::string noted_loss_{};
  int ending_signal_ = 0;   // the first
  Deadline present_by_{};   // all nodes, or the job is broken off
  Deadline give_up_at_{};   // waiting for nodes that do not answer
  Deadline complain_at_{};  // of nodes that have not started their tasks
  Deadline leave_by_{};
};

}  // namespace openlapi::jobs
