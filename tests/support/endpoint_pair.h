// Endpoints of one job in one process over MemoryTransport, with a host whose handlers a test sets.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "tests/support/memory_transport.h"

namespace openlapi {

class TurnedClock final : public Clock {
 public:
  Nanoseconds now() const override { return now_; }
  void advance(Nanoseconds by) { now_ += by; }

 private:
  Nanoseconds now_ = kSecond;
};

class ScriptedHost final : public HandlerHost {
 public:
  std::function<HeaderVerdict(const ArrivedMessage&)> on_header = [](const ArrivedMessage&) { return HeaderVerdict{}; };
  std::function<bool(const CompletionRun&, bool)> on_completion = [](const CompletionRun&, bool) { return true; };
  std::function<void(const SendCompletion&)> on_send_completion = [](const SendCompletion&) {};
  std::vector<std::pair<Fault, PeerIndex>> faults;

  HeaderVerdict run_header_handler(const ArrivedMessage& message) override { return on_header(message); }
  bool run_completion_handler(const CompletionRun& run, bool now) override { return on_completion(run, now); }
  void run_send_handler(const SendCompletion& completion) override { on_send_completion(completion); }
  void report_fault(Fault fault, PeerIndex peer) override { faults.emplace_back(fault, peer); }
};

struct Task final : RouteResolver {
  Task(PeerIndex self, std::uint32_t max_packet) : transport(self, max_packet) {}
  Route resolve(PeerIndex) override {
    Route route;
    route.paths[0] = &transport;
    route.count = 1;
    route.epoch = epoch_of_peers;
    return route;
  }

  MemoryTransport transport;
  std::uint32_t epoch_of_peers = 0;  // what this task is told at first contact
  ScriptedHost host;
  std::unique_ptr<Endpoint> endpoint;
};

// So that a few messages use up all copies, and short ones are long.
inline EndpointConfig small_copies() {
  EndpointConfig config;
  config.copy_limit = 4000;
  config.copy_buffers = 4;
  return config;
}

class Job {
 public:
  explicit Job(std::uint32_t tasks, EndpointConfig config = {}, std::uint32_t max_packet = 1024) {
    for (PeerIndex i = 0; i < tasks; ++i) tasks_.push_back(std::make_unique<Task>(i, max_packet));
    for (auto& a : tasks_) {
      for (auto& b : tasks_) MemoryTransport::connect(a->transport, b->transport);
    }
    config_ = config;
    config_.tasks = tasks;
  }

  // Makes the endpoints: what a test sets on the transports before is seen by them.
  void start() {
    for (PeerIndex i = 0; i < tasks_.size(); ++i) {
      config_.self = i;
      Transport* transport = &tasks_[i]->transport;
      tasks_[i]->endpoint =
          std::make_unique<Endpoint>(config_, std::span(&transport, 1), clock, *tasks_[i], tasks_[i]->host);
    }
  }

  Task& task(PeerIndex i) { return *tasks_[i]; }
  Endpoint& operator[](PeerIndex i) { return *tasks_[i]->endpoint; }

  // Until nothing moves any more.
  void settle() {
    for (bool moved = true; moved;) {
      moved = false;
      for (auto& task : tasks_) moved |= task->endpoint->progress() != 0;
    }
  }

  TurnedClock clock;

 private:
  EndpointConfig config_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace openlapi
