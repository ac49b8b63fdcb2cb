// A random life of requests in a host: one seed, one life.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "api/rpi/host/communicator.h"
#include "api/rpi/host/host.h"
#include "tests/unit/rpi/lifecycle/matching_model.h"
#include "tests/unit/rpi/lifecycle/peer_module.h"

namespace openlapi::rpi {

constexpr char kUntouched = 0x7e;  // where no data belong

// Data begin with their source and number, so that those of an orphan can be told.
char data_byte(int source, int number, int at);

// The module `self` alone, or, with an odd seed, beside two modules that have two peers each. Peers send from the test.
class LifecycleRun {
 public:
  LifecycleRun(std::uint64_t seed, int steps);
  ~LifecycleRun();
  LifecycleRun(const LifecycleRun&) = delete;
  LifecycleRun& operator=(const LifecycleRun&) = delete;

  // Throws Failure, or what the host throws.
  void run();
  int step() const { return step_; }

 private:
  // A request with what the test knows of it.
  struct Known {
    Operation operation{};
    std::vector<char> buffer{};
    MPI_Request handle = MPI_REQUEST_NULL;  // of an orphan too, until it is done
    std::size_t model = 0;                  // index of the receive or probe, or of the message to oneself
    int number = 0;                         // of the message that it sends
    bool is_active = false, is_done = false, is_cancelled = false, is_orphan = false;
    bool is_send() const { return operation.type < LAM_RQIRECV; }
  };

  int any_of(int first, int last) { return std::uniform_int_distribution(first, last)(random_); }
  bool one_in(int many) { return any_of(1, many) == 1; }
  int any_length(int context);
  Layout any_layout(int size);
  void make_processes();
  void make_host();

  // ---- What happens ----
  void do_something();
  void send();
  void receive();
  void peer_sends();
  void probe_now();
  void cancel_one();
  void test_one();
  void wait_for_one();
  void free_one();
  void restart_one();
  void start(Known& known);
  Known& add(Operation operation);
  Known* any_active();

  // ---- What is looked at after each step ----
  void look();
  void look_at_sends();
  void look_at_receives();
  void look_at_orphans(std::vector<MatchingModel::Match>& matches);
  void look_at_receipts();
  static void judge_handle(const Known& known);
  void judge_completion(Known& known, const MPI_Status& status);
  void judge_data(const Known& known, int source, int number, int length) const;
  void finish();

  std::mt19937_64 random_;
  const int steps_;
  const bool has_peers_;
  int step_ = 0, next_peer_number_ = 0;
  std::size_t receipts_seen_[kPeerModules] = {};
  RpiModules modules_;
  DrivenModule self_{}, peer_modules_[kPeerModules]{};
  std::unique_ptr<Host> host_{};
  std::vector<std::unique_ptr<Communicator>> communicators_{};
  std::vector<std::unique_ptr<Known>> known_{};
  MatchingModel model_{};
};

}  // namespace openlapi::rpi
