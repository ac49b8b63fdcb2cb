// A process of a simulated MPI job: requests as LAM's MPI layer makes, starts, cancels and frees them, over the engine.
// Whatever ends is compared with the model.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "api/rpi/lapi/fast_messages.h"
#include "api/rpi/lapi/request_engine.h"
#include "tests/unit/rpi/matching_model.h"
#include "tests/unit/rpi/simulated_network.h"

namespace openlapi::rpi {

constexpr std::size_t kMostShort = 64;

struct Job {
  std::mt19937 random;
  MatchingModel model;
  SimulatedNetwork network;
  bool exact = true;  // nobody has died: the model says everything
  int receives = 0;   // names for the model
  std::vector<std::string> mistakes{};

  Job(unsigned seed, unsigned processes) : random(seed), model(processes), network(processes, random) {}
  std::size_t below(std::size_t limit) { return random() % limit; }
  void expect(bool holds, const std::string& text) {
    if (!holds) mistakes.push_back(text);
  }
};

// With the buffers that its program gave.
struct SimulatedRequest {
  _req request{};
  std::vector<char> buffer{};
  int number = -1;  // send: of the message; receive: its name in the model
  bool is_send = false, cancelled = false, waits_for_restart = false;
};

class SimulatedProcess final : public MpiLayer {
 public:
  SimulatedProcess(Job& job, unsigned rank, unsigned processes);
  ~SimulatedProcess() override;

  // Something that a program could do, by chance.
  void act();
  void send(unsigned to, int type);
  void receive(const Wanted& wanted, std::size_t room, int type, bool persistent);
  // Everything that can be received, and nothing asked for in vain.
  void receive_rest();
  void cancel_rest();
  int advance(bool block);
  // As another call of its program would.
  void move() {
    tell_what_came_outside();
    engine_.advance(nullptr, false);
  }
  // What its thread would do between two calls of the program.
  void move_outside();
  // It never cancels anything.
  void cancel_nothing();
  // Before the model is told: message `number` begins to arrive.
  void arrives(int number);
  void drain() {
    tell_what_came_outside();
    engine_.drain();
  }
  bool has_active() const { return active_ > 0; }
  RequestEngine& engine() { return engine_; }
  World& world() { return world_; }

  void request_begun() override { ++active_; }
  void request_ended() override { --active_; }
  bool start_request(MPI_Request) override { return false; }
  int error_of(int error_class) override { return error_class + 1000; }
  int next_number() override { return next_number_; }
  bool is_homogeneous() override { return true; }
  bool has_debugger() override { return false; }
  Holding hold_calls() override;
  void release_calls() override { calls_are_held_ = false; }
  void tell(const _proc&, const char*) override {}

 private:
  using Requests = std::list<SimulatedRequest>;

  void tell_what_came_outside();

  SimulatedRequest& make(int type, const Wanted& peer, std::size_t size, bool persistent);
  void start(SimulatedRequest& made);
  void cancel(SimulatedRequest& made);
  void iprobe(const Wanted& wanted);
  void send_to_nobody();
  void fast_send(unsigned to);
  void fast_receive(const Wanted& wanted);
  void restart_or_destroy();
  Requests::iterator destroy(Requests::iterator made);
  void look_at_ended();
  bool may_be_dead(const _req& request) const;
  void check_send(SimulatedRequest& made);
  void check_receive(const SimulatedRequest& made);
  SimulatedRequest* random_started_receive();
  Wanted random_wanted();

  Job& job_;
  unsigned rank_;
  std::vector<_proc> processes_;
  std::vector<_proc*> members_;
  _group group_{};
  _dtype bytes_{};
  std::vector<_comm> communicators_;
  RequestEngine engine_{*this, kMostShort};
  SimulatedWorld world_;
  FastMessages fast_{engine_, *this};
  int next_number_ = 0;
  Requests requests_{};
  int active_ = 0;
  bool may_cancel_ = true, is_outside_ = false;
  bool calls_can_be_held_ = false, calls_are_held_ = false;
  std::vector<int> arrived_outside_{};  // matched in the next call, or when calls can be held off
};

}  // namespace openlapi::rpi
