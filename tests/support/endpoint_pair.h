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
  Nanoseconds now() const override {
    ++looks_;
    return now_;
  }
  void advance(Nanoseconds by) { now_ += by; }
  unsigned looks() const { return looks_; }  // so far

 private:
  Nanoseconds now_ = kSecond;
  mutable unsigned looks_ = 0;
};

class ScriptedHost final : public HandlerHost {
 public:
  std::function<HeaderVerdict(const ArrivedMessage&)> on_header;
  std::function<bool(const CompletionRun&, bool)> on_completion;
  std::function<void(const SendCompletion&)> on_send_completion;
  std::vector<std::pair<Fault, PeerIndex>> faults;
  std::vector<PeerIndex> warnings;  // of other secrets
  std::vector<std::pair<PeerIndex, unsigned>> other_versions;

  ScriptedHost();
  ~ScriptedHost();
  HeaderVerdict run_header_handler(const ArrivedMessage& message) override { return on_header(message); }
  bool run_completion_handler(const CompletionRun& run, bool now) override { return on_completion(run, now); }
  void run_send_handler(const SendCompletion& completion) override { on_send_completion(completion); }
  void warn_of_other_secret(PeerIndex peer) override { warnings.push_back(peer); }
  void name_other_version(PeerIndex peer, unsigned version) override { other_versions.emplace_back(peer, version); }
  void report_fault(Fault fault, PeerIndex peer) override;
};

struct Task final : RouteResolver {
  Task(PeerIndex self, std::uint32_t max_packet);
  ~Task();
  Route resolve(PeerIndex) override;

  MemoryTransport transport;
  std::vector<std::unique_ptr<MemoryTransport>> others;  // further paths to the same tasks
  std::vector<OtherEnd> other_ends{};                    // of these paths
  std::uint64_t epoch_of_peers = 0;  // what this task is told at first contact
  PeerIndex out_of_reach = kUnknownPeer;
  PeerIndex looked_for = kUnknownPeer;  // whether there is a path to it is not known yet
  ScriptedHost host;
  std::unique_ptr<Endpoint> endpoint;
};

// So that a few messages use up all copies, and short ones are long.
EndpointConfig small_copies();

class Job {
 public:
  explicit Job(std::uint32_t tasks, EndpointConfig config = {}, std::uint32_t max_packet = 1024);
  ~Job();

  // Each task has one path more to all others.
  void add_paths(std::uint32_t max_packet = 1024);

  // Makes the endpoints: what a test sets on the transports before is seen by them.
  void start();

  Task& task(PeerIndex i) { return *tasks_[i]; }
  Endpoint& operator[](PeerIndex i) { return *tasks_[i]->endpoint; }

  // Until nothing moves any more.
  void settle();

  TurnedClock clock;

 private:
  EndpointConfig config_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace openlapi
