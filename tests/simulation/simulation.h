// One run of one seed: all engines of a job in one process, over a simulated network and in virtual time.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "tests/simulation/checker.h"
#include "tests/simulation/lie_arena.h"
#include "tests/simulation/link_words.h"
#include "tests/simulation/lying_task.h"
#include "tests/simulation/recovery.h"
#include "tests/simulation/scenario.h"
#include "tests/simulation/simulated_engine.h"
#include "tests/support/simulated_network.h"
#include "tests/support/virtual_time.h"

namespace openlapi::simulation {

// What a run did, to see that it tested what it should.
struct Summary {
  std::uint64_t operations = 0;  // issued, replies included
  std::uint64_t by_kind[4] = {};
  std::uint64_t by_layout[4] = {};  // sides of operations, by DataLayout::Kind
  std::uint64_t combined = 0;       // messages whose data is combined with what is there
  std::uint64_t excused = 0;
  std::uint64_t fences = 0;
  std::uint64_t collectives = 0;
  std::uint64_t deaths = 0;
  std::uint64_t returns = 0;
  std::uint64_t faults = 0;
  std::uint64_t cuts = 0;        // of adapters
  std::uint64_t link_words = 0;  // of them, as tasks are told
  std::uint64_t purges = 0;
  std::uint64_t resumes = 0;
  std::uint64_t separations = 0;  // begun
  std::uint64_t separations_ended_by_death = 0;
  std::uint64_t refused = 0;  // operations to purged tasks
  std::uint64_t lies = 0;     // packets
  std::uint64_t pauses = 0;
  std::uint64_t long_stops = 0;
  std::uint64_t retransmitted = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t ghosts = 0;
  std::uint64_t bulk_messages = 0;   // read by adapters
  std::uint64_t bulk_fallbacks = 0;  // at both sides
  SimulatedBulkNetwork::Counters bulk;
  SimulatedNetwork::Counters network;
  Nanoseconds virtual_time = 0;
  std::uint64_t events = 0;
};

class Simulation {
 public:
  static constexpr std::uint32_t kCollectives = 8;  // of one context

  explicit Simulation(const Options& options);
  ~Simulation();

  // Empty: everything held. Else what did not.
  std::string run();
  const Summary& summary() const { return summary_; }
  const Scenario& scenario() const { return scenario_; }

  // ---- for the engines ----
  Checker& checker() { return checker_; }
  VirtualTime& time() { return time_; }
  SimulatedNetwork& network() { return network_; }
  SimulatedBulkNetwork& bulk_network() { return bulk_network_; }
  Summary& tally() { return summary_; }
  void operation_issued(const Operation& operation);
  // Epochs of an engine grow, whatever they are for. Contexts have the same ones: they must be told apart otherwise.
  std::uint64_t next_epoch(PeerIndex task, std::uint32_t context);
  // Answers its epoch.
  std::uint64_t begin_incarnation(PeerIndex task, std::uint32_t context) {
    return published_[task][context] = next_epoch(task, context);
  }
  std::uint64_t published_epoch(PeerIndex task, std::uint32_t context) const { return published_[task][context]; }
  std::uint32_t port_of(PeerIndex task) const {
    return scenario_.new_ports && !scenario_.is_liar(task) ? checker_.incarnation(task) : 0;
  }
  Recovery& recovery() { return recovery_; }
  EndpointConfig endpoint_config(PeerIndex task, std::uint32_t context) const;  // but for its epoch
  static constexpr std::uint32_t kSharedMemory = UINT32_MAX;                    // in the place of a network's number
  PortConfig port_config(PeerIndex task, std::uint32_t context, std::uint32_t network) const;
  PortAddress address_of(PeerIndex task, std::uint32_t context, std::uint32_t network) const;
  LieArena& arena(PeerIndex task) { return arenas_[task]; }
  std::uint64_t liars_memory(std::uint64_t length) { return arenas_.back().place(0, length); }
  bool finishing() const { return finishing_; }
  // From now on tasks keep their cores.
  void set_calm() { calm_ = true; }
  bool calm() const { return calm_; }
  bool lies_are_over(std::uint32_t context) const { return context >= liars_.size() || liars_[context]->is_done(); }
  [[gnu::format(printf, 2, 3)]] void trace(const char* format, ...);

  // ---- for recovery ----
  SimulatedEngine* engine(PeerIndex task, std::uint32_t context) { return engines_[task][context].get(); }
  void bring_back(PeerIndex task);
  void isolate(PeerIndex task, Nanoseconds time);

  // Collectives of a context: how many tasks have begun the n-th, and what each had issued before.
  void collective_begun(PeerIndex task, std::uint32_t context, std::uint32_t number, std::size_t issued);
  bool all_have_begun(std::uint32_t context, std::uint32_t number) const;
  std::size_t issued_before(PeerIndex task, std::uint32_t context, std::uint32_t number) const;

 private:
  std::vector<std::uint64_t> moments(std::uint32_t count, SeededRandom& random);
  void supervise();
  void next_phase();
  void cut_somebody();
  void spoil_adapters();
  void make_noise();
  void maybe_kill();
  void pause_somebody(bool for_long);
  void stop_for_long(PeerIndex task);
  void pause_again(PeerIndex task, std::uint32_t incarnation, std::uint32_t times, Nanoseconds longest);
  void kill(PeerIndex task);
  void move_quotas(const std::vector<std::uint32_t>& quotas);
  bool everything_issued() const;
  bool at_rest();
  std::string what_is_not_at_rest();
  void finish();
  void check_statistics();
  void check_bulk();
  void collect_statistics();

  const Scenario scenario_;
  VirtualTime time_;
  SimulatedNetwork network_;
  SimulatedBulkNetwork bulk_network_;
  Checker checker_;
  SeededRandom random_;
  SeededRandom pause_random_;
  std::vector<std::vector<std::unique_ptr<SimulatedEngine>>> engines_;  // by task and context; null: dead
  std::vector<std::vector<std::uint32_t>> quotas_of_dead_;
  std::vector<std::vector<std::vector<std::size_t>>> begun_;  // by context, number and task: issued + 1, or 0
  std::vector<std::uint64_t> deaths_after_;                   // operations issued in total; latest first
  std::vector<std::uint64_t> separations_after_;
  std::vector<std::uint64_t> pauses_after_;
  std::deque<LieArena> arenas_;                    // by task, when somebody lies
  std::vector<std::unique_ptr<LyingTask>> liars_;  // by context
  std::uint32_t pauses_under_way_ = 0;
  Recovery recovery_;
  std::vector<std::vector<std::uint64_t>> epochs_;     // by task and context: the newest,
  std::vector<std::vector<std::uint64_t>> published_;  // and the newest of incarnations
  std::uint32_t killings_under_way_ = 0;               // begun, or waiting to come back
  std::uint32_t kill_tries_ = 0;
  std::uint32_t partitions_left_;
  std::uint32_t cuts_left_;
  SeededRandom path_random_;
  LinkWords link_words_;
  bool finishing_ = false;
  bool calm_ = false;
  bool done_ = false;
  Nanoseconds finishing_since_ = 0;
  Nanoseconds supervise_every_ = 500 * kMicrosecond;
  Summary summary_;
};

}  // namespace openlapi::simulation
