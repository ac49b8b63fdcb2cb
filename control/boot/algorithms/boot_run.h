// One run of a boot algorithm: does its steps and remembers how far each node has come. The algorithms decide when.
//
// A node is started when its process was launched and, with the startup protocol, its daemon has reported and been told
// the universe. Then, and only then, NT_BOOT is reset in its type. A node that fails does not keep others from being
// tried: the user hears of all bad hosts at once. No daemon is told a universe that some of its nodes failed to join.
#pragma once

#include <vector>

#include "control/boot/algorithms/node_operations.h"

namespace openlapi::boot {

struct BootRequest {
  lamnode* nodes = nullptr;
  int count = 0;
  bool startup_protocol = false;
  lam_ssi_boot_proc_t which = LAM_SSI_BOOT_PROC_LAMD;
  // After a failure: end all that was launched, also where no daemon has reported.
  bool clean_up = false;
};

struct BootReport {
  bool complete = false;  // all nodes that were to be booted are started
  int started = 0;        // nodes that are started; after cleaning up, those that could not be ended
};

// Indices of the nodes that are to be booted.
std::vector<int> nodes_to_boot(const BootRequest& request);

// Not thread safe: algorithms with threads lock around it, except where it says "unlocked".
class BootRun {
 public:
  BootRun(const BootRequest& request, NodeOperations& operations);
  // Only these nodes of the request.
  BootRun(const BootRequest& request, NodeOperations& operations, std::vector<int> only);

  // Opens the server. False: nothing more can be done than finish.
  bool begin();
  // Closes the server, tells the universe, cleans up; the result.
  BootReport finish();

  // The steps of finish(). close() closes the server; true: all nodes are started. tell_universe() tells `universe`,
  // which has all nodes, to those that are to be booted; true: all took it. end_launched() ends what was launched; a
  // node whose process could not be ended stays started.
  bool close();
  bool tell_universe(lamnode* universe, int count);
  void end_launched();

  // Nodes that are to be booted, as indices.
  const std::vector<int>& to_boot() const { return to_boot_; }
  bool needs_reports() const { return request_.startup_protocol; }

  // Launches: prepare_launch, then run_launch (unlocked), then end_launch with what that returned.
  void prepare_launch(int node) { state_of(node) = State::kLaunching; }
  bool run_launch(int node);
  void end_launch(int node, bool launched);
  void launch(int node);

  // How many launched nodes have not reported yet.
  int awaited() const { return awaited_; }

  // Waiting for one report: prepare_receive, then run_receive (unlocked), then end_receive with what that returned.
  struct Wait {
    std::vector<lamnode> before{};  // copies, so that the wait can be unlocked
    std::vector<lamnode> after{};
    std::vector<int> awaited{};  // nodes that were launched when the wait began
  };
  // Listens to all nodes that are awaited; and, if `early`, to those that may be launched while it waits.
  Wait prepare_receive(bool early) const;
  bool run_receive(Wait& wait);
  // `heard` false: all that were awaited have failed.
  void end_receive(const Wait& wait, bool heard);
  void receive();

 private:
  enum class State { kNotToBoot, kWaiting, kLaunching, kReportedEarly, kLaunched, kStarted, kFailed };

  State& state_of(int node) { return states_[static_cast<std::size_t>(node)]; }
  State state_of(int node) const { return states_[static_cast<std::size_t>(node)]; }
  lamnode& node(int index) const { return request_.nodes[index]; }
  void set_started(int index);
  void fail(int index);
  void take(int index, const lamnode& report);
  bool all_started() const;
  int find_reporter(const Wait& wait) const;
  void give_up(const Wait& wait);

  BootRequest request_;
  NodeOperations& operations_;
  std::vector<int> to_boot_{};
  std::vector<State> states_;
  std::vector<bool> was_launched_;  // something may run there
  std::vector<lamnode> reports_;    // of nodes in kReportedEarly
  int awaited_ = 0;
  bool server_open_ = false;
};

}  // namespace openlapi::boot
