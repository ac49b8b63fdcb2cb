// One context of one task: an endpoint, its transports, and what the task does with it - it issues operations, runs
// handlers, begins fences and collectives. Sleeps as a dataplane thread would: it steps when something arrives, at the
// engine's deadline, or while the engine says that it has work.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "tests/simulation/checker.h"
#include "tests/simulation/operation_source.h"
#include "tests/simulation/scenario.h"
#include "tests/support/simulated_network.h"

namespace openlapi::simulation {

class Simulation;

class SimulatedEngine final : public HandlerHost, public RouteResolver {
 public:
  SimulatedEngine(Simulation& simulation, PeerIndex task, std::uint32_t context, std::uint32_t quota);
  ~SimulatedEngine() override;

  std::uint32_t quota_left() const { return quota_left_; }
  void add_quota(std::uint32_t operations);

  // The user's decisions (recovery.h).
  void purge(PeerIndex peer);
  void resume(PeerIndex peer);
  // The next operations are more than were planned, and go there.
  void favour(PeerIndex peer, std::uint32_t operations);

  void stop_until(Nanoseconds when);
  // Something was begun from outside.
  void wake();
  Nanoseconds stopped_until() const { return stopped_until_; }

  // Nothing is left that the task itself would still do.
  bool is_idle() const;
  std::string what_it_waits_for() const;
  Endpoint& endpoint() { return *endpoint_; }
  const Endpoint& endpoint() const { return *endpoint_; }

 private:
  struct Fence {
    FenceTicket ticket;
    std::size_t operations;  // issued before it
    std::uint32_t purges;    // as well
  };

  // HandlerHost
  HeaderVerdict run_header_handler(const ArrivedMessage& message) override;
  bool run_completion_handler(const CompletionRun& run, bool now) override;
  void run_send_handler(const SendCompletion& completion) override;
  void report_fault(Fault fault, PeerIndex peer) override;
  using HandlerHost::address_changed;

  // RouteResolver
  Route resolve(PeerIndex peer) override;
  bool address_changed(PeerIndex peer, const PeerAddress& published, const PeerAddress& present) override;

  void add_other_ends(PeerIndex peer, Route& route);
  Transport* adapter(std::uint32_t network) const;  // null: there is none
  void open_transports();
  void open_bulk_memory(SimulatedTransport& transport);
  void step_within(Nanoseconds longest);
  void step_at(Nanoseconds when, Step kind = Step::first);
  void step();
  void plan_next_step(bool moved);

  // What a peer can make it keep, and what it has begun towards a peer (simulated_bounds.cc).
  void check_bounds();
  void check_bounds_towards(PeerIndex peer);
  void bait_the_liar();
  Submit bait();
  HeaderVerdict hear_the_liar(const ArrivedMessage& message);
  bool run_liars_handler(const CompletionRun& run, bool now);
  void return_from_liars_handler(const CompletionRun& run, Nanoseconds longest);

  void issue_some();
  // The endpoint's answer; `accepted` also when the target is no more.
  Submit issue(Operation& operation);
  Submit submit(Operation& operation);
  Submit submit_layout(Operation& operation, const HandlerCall& handler);
  HandlerCall origin_handler(Operation& operation);
  bool run_get_handler(const CompletionRun& run, bool now);

  void maybe_begin_fence();
  void look_at_fences();
  void advance_collectives();
  // Before a collective: what ends the fence wakes the task.
  bool waits_for_fence() const { return fence_before_barrier_ && !fences_.empty(); }
  void begin_collective();
  void check_exchanged();
  void collective_done();

  void queue_completion(const CompletionRun& run, Nanoseconds longest);
  void completion_thread(const CompletionRun& run);
  bool reply_to(Operation& operation, bool must_be_taken);

  Simulation& simulation_;
  const Scenario& scenario_;
  Checker& checker_;
  VirtualTime& time_;
  const PeerIndex task_;
  const std::uint32_t context_;
  SeededRandom random_;
  OperationSource source_;
  std::uint32_t quota_left_;
  std::uint32_t share_;  // the quota at the beginning

  std::vector<std::unique_ptr<SimulatedTransport>> transports_;
  std::vector<std::unique_ptr<SimulatedBulkMemory>> bulk_memories_;
  std::unique_ptr<Endpoint> endpoint_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // outlives this: events of dead engines do nothing

  Nanoseconds next_step_ = UINT64_MAX;
  Step next_kind_ = Step::first;
  Nanoseconds stalled_until_ = 0;
  Nanoseconds stopped_until_ = 0;
  std::uint64_t step_token_ = 0;
  Nanoseconds next_issue_ = 0;
  Operation* refused_ = nullptr;  // answered `busy`, to be tried again
  Nanoseconds refusal_wait_ = 0;  // how long until then at most: longer each time, a dead peer may hold all room
  std::uint32_t completions_queued_ = 0;
  std::uint32_t replies_inline_ = 0;  // which are never refused
  std::uint64_t longest_lists_ = 0;   // bytes of both lists of one vector
  std::uint32_t baits_ = 0;           // operations to the one who lies

  std::uint32_t purges_ = 0;
  std::vector<PeerIndex> favourites_;  // one for each operation
  std::vector<Fence> fences_;
  std::uint32_t collectives_begun_ = 0;
  bool in_collective_ = false;
  bool fence_before_barrier_ = false;             // LAPI_Gfence: the fence first
  std::size_t fenced_operations_ = 0;             // issued before that fence
  std::map<std::uint64_t, Operation*> reply_of_;  // replies that were refused so far, by the message they answer
};

}  // namespace openlapi::simulation
