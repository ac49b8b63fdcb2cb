// Worlds of several processes in one: what is sent arrives when chance lets it, in any order, in two steps; a process
// that is killed is told of to the others at a time of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "api/rpi/lapi/world.h"

namespace openlapi::rpi {

// What is on its way. It happens in the progress() of `owner`.
struct Event {
  enum class Kind { begins, completes, sent, get, lost } kind;
  Peer owner, peer;
  std::shared_ptr<struct Flight> flight{};
};

// A message or a get.
struct Flight {
  std::vector<std::byte> header{};
  const std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::size_t length = 0;
  WhenDone when_sent{}, when_here{};
  int number = -1;  // of a message that was announced
};

class SimulatedNetwork {
 public:
  SimulatedNetwork(Peer processes, std::mt19937& random)
      : random_(random), dead_(processes), lost_(processes), left_(processes) {
    for (auto& lost : lost_) lost.resize(processes);
    for (auto& left : left_) left.resize(processes);
  }

  void kill(Peer process);
  // Like kill(), of a process that has left: nobody is told but those whom it has told itself, and they later.
  void end(Peer process);
  bool is_dead(Peer process) const { return dead_[process]; }
  // Whether `process` has taken the last message of `other`.
  bool knows_left(Peer process, Peer other) const { return left_[process][other]; }
  bool knows_dead(Peer process, Peer dead) const { return lost_[process][dead]; }
  bool empty() const { return events_.empty(); }
  std::size_t of(Peer process) const;
  // The message with data or without that is sent next, and is no answer, has this number.
  void announce(int number) { announced_ = number; }

  // Told before the listener: message `number` begins to arrive.
  std::function<void(Peer, int)> on_arrival{};
  // How often a process may still sleep; below 0: as often as it likes. Then it throws.
  int patience = -1;
  // Processes have a thread that goes on while they sleep.
  bool with_threads = false;
  // A process that may sleep has nothing to do: others go on.
  std::function<void(Peer)> while_asleep{};

 private:
  friend class SimulatedWorld;
  void add(Event event) { events_.push_back(std::move(event)); }
  bool happen(Peer process, class SimulatedWorld& world);
  void bury(Peer process);
  void lose(Peer process, Peer dead, SimulatedWorld& world);

  std::mt19937& random_;
  std::vector<Event> events_{};
  std::vector<bool> dead_;
  std::vector<std::vector<bool>> lost_;  // who has been told of whom
  std::vector<std::vector<bool>> left_;
  int announced_ = -1;
};

class SimulatedWorld final : public World {
 public:
  SimulatedWorld(SimulatedNetwork& network, Peer self, WorldListener& listener)
      : network_(network), self_(self), listener_(listener) {}

  Peer self() const override { return self_; }
  Peer peers() const override { return static_cast<Peer>(network_.dead_.size()); }
  void send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                    WhenDone when_sent) override;
  void get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) override;
  bool progress(bool block) override;
  void interrupt() override {}
  void has_left(Peer peer) override;
  void expect_no_more(Peer) override {}
  void give_up(Peer, const char*) override {}
  bool drained() override;

  // What the process's thread would do, while its program is not in a call or sleeps in one.
  void move_outside();

 private:
  friend class SimulatedNetwork;
  void begin(const Event& event);
  bool some_happen(std::size_t steps);

  SimulatedNetwork& network_;
  Peer self_;
  WorldListener& listener_;
};

}  // namespace openlapi::rpi
