#include "tests/simulation/simulation.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include "dataplane/base/epoch.h"
#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/path_trial.h"

namespace openlapi::simulation {

namespace {

constexpr std::uint64_t kControlStream = 0x636f6e74;
constexpr Nanoseconds kLongestFinish = 200 * kSecond;  // virtual, for everything to come to rest
constexpr Nanoseconds kLinger = 3 * kSecond;           // for the latest packets of all
constexpr std::uint64_t kMostEvents = 20'000'000;
constexpr std::uint32_t kKillTries = 100;
constexpr std::uint64_t kPauseStream = 0x7061757365;
constexpr std::uint64_t kCutStream = 0x637574;

}  // namespace

Simulation::Simulation(const Options& options)
    : scenario_(options),
      network_(time_, options.seed),
      bulk_network_(time_, options.seed),
      checker_(scenario_, time_),
      random_(options.seed, kControlStream),
      pause_random_(options.seed, kPauseStream),
      engines_(options.tasks),
      quotas_of_dead_(options.tasks),
      begun_(options.contexts, std::vector(kCollectives, std::vector<std::size_t>(options.tasks))),
      recovery_(*this),
      epochs_(options.tasks, std::vector<std::uint64_t>(options.contexts, scenario_.first_epoch)),
      published_(options.tasks, std::vector<std::uint64_t>(options.contexts)),
      partitions_left_(scenario_.partitions),
      cuts_left_(scenario_.cuts),
      path_random_(options.seed, kCutStream),
      link_words_(scenario_, time_, network_) {
  spoil_adapters();
  bulk_network_.connected = [this](PeerIndex a, PeerIndex b, std::uint32_t network) {
    return !network_.separated(a, b) && !network_.is_cut(a, network) && !network_.is_cut(b, network);
  };
  deaths_after_ = moments(scenario_.deaths, random_);
  separations_after_ = moments(scenario_.separations, random_);
  pauses_after_ = moments(scenario_.pauses, pause_random_);
  if (scenario_.lying_task) arenas_.resize(scenario_.all_tasks());
  const std::uint32_t engines = options.tasks * options.contexts;
  for (PeerIndex task = 0; task < options.tasks; ++task) {
    for (std::uint32_t context = 0; context < options.contexts; ++context) {
      const std::uint32_t quota = (options.operations + engines - 1) / engines;
      engines_[task].push_back(std::make_unique<SimulatedEngine>(*this, task, context, quota));
    }
  }
  for (std::uint32_t context = 0; scenario_.lying_task && context < options.contexts; ++context) {
    liars_.push_back(std::make_unique<LyingTask>(*this, context));
  }
}

Simulation::~Simulation() = default;

// Numbers of operations after which something happens; latest first.
std::vector<std::uint64_t> Simulation::moments(std::uint32_t count, SeededRandom& random) {
  const std::uint64_t operations = scenario_.options.operations;
  std::vector<std::uint64_t> chosen(count);
  for (std::uint64_t& moment : chosen) moment = random.between(operations / 5, operations * 9 / 10);
  std::sort(chosen.rbegin(), chosen.rend());
  return chosen;
}

// They have 48 bits, and 0 is none.
std::uint64_t Simulation::next_epoch(PeerIndex task, std::uint32_t context) {
  std::uint64_t& epoch = epochs_[task][context];
  constexpr std::uint64_t kBeginnings = std::uint64_t{1} << kBeginningBits;
  epoch = epoch + kBeginnings >= std::uint64_t{1} << 48 ? kBeginnings : epoch + kBeginnings;
  return epoch;
}

std::string Simulation::run() {
  next_phase();
  supervise();
  while (!checker_.failed() && !done_ && time_.run_next()) {
    if (time_.events_run() > kMostEvents) checker_.fail("does not come to rest:%s", what_is_not_at_rest().c_str());
  }
  if (!checker_.failed()) PathTrial(*this).run();
  if (!checker_.failed()) finish();
  collect_statistics();
  return checker_.failure();
}

void Simulation::trace(const char* format, ...) {
  if (!scenario_.options.trace) return;
  std::printf("%12.6f ms  ", static_cast<double>(time_.now()) / 1e6);
  va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

void Simulation::operation_issued(const Operation& operation) {
  ++summary_.operations;
  ++summary_.by_kind[static_cast<int>(operation.kind)];
  ++summary_.by_layout[static_cast<int>(operation.from.kind)];
  ++summary_.by_layout[static_cast<int>(operation.to.kind)];
  summary_.combined += operation.to.distributes();
  trace("task %u context %u issues %llu (kind %d, to task %u, %llu bytes, layouts %d -> %d)", operation.origin,
        operation.context, static_cast<unsigned long long>(operation.id), static_cast<int>(operation.kind),
        operation.target, static_cast<unsigned long long>(operation.length), static_cast<int>(operation.from.kind),
        static_cast<int>(operation.to.kind));
  const auto is_due = [&](const std::vector<std::uint64_t>& moments) {
    return !moments.empty() && summary_.operations >= moments.back();
  };
  if (is_due(separations_after_)) {
    separations_after_.pop_back();
    time_.after(0, [this] { recovery_.separate_somebody(); });
  }
  if (is_due(pauses_after_)) {
    pauses_after_.pop_back();
    time_.after(0, [this] { pause_somebody(scenario_.long_stop && pauses_after_.empty()); });
  }
  if (!is_due(deaths_after_)) return;
  deaths_after_.pop_back();
  ++killings_under_way_;
  time_.after(0, [this] { maybe_kill(); });
}

void Simulation::collective_begun(PeerIndex task, std::uint32_t context, std::uint32_t number, std::size_t issued) {
  begun_[context][number][task] = issued + 1;
}

bool Simulation::all_have_begun(std::uint32_t context, std::uint32_t number) const {
  const std::vector<std::size_t>& begun = begun_[context][number];
  return std::none_of(begun.begin(), begun.end(), [](std::size_t value) { return value == 0; });
}

std::size_t Simulation::issued_before(PeerIndex task, std::uint32_t context, std::uint32_t number) const {
  return begun_[context][number][task] - 1;
}

// Faults change all the time; sometimes the network falls apart for a while.
void Simulation::next_phase() {
  if (finishing_) return;
  network_.set_faults(scenario_.next_faults(random_));
  make_noise();
  if (partitions_left_ != 0 && random_.chance(0.3)) {
    --partitions_left_;
    std::vector<std::uint8_t> groups;
    for (PeerIndex task = 0; task < scenario_.options.tasks; ++task) groups.push_back(random_.below(2) != 0);
    network_.partition(groups);
    const Nanoseconds length = random_.between(kMillisecond, scenario_.longest_partition);
    trace("partition for %.3f ms", static_cast<double>(length) / 1e6);
    time_.after(length, [this] { network_.partition({}); });
  }
  for (std::uint64_t n = path_random_.below(3); n != 0 && cuts_left_ != 0; --n) cut_somebody();
  link_words_.lie();
  time_.after(random_.between(100 * kMicrosecond, 10 * kMillisecond), [this] { next_phase(); });
}

// One adapter of one task, in one direction or in both; others may be cut at the same time, at other tasks as well.
void Simulation::cut_somebody() {
  --cuts_left_;
  ++summary_.cuts;
  const auto task = static_cast<PeerIndex>(path_random_.below(scenario_.options.tasks));
  const auto adapter = static_cast<std::uint32_t>(path_random_.below(scenario_.networks));
  const Nanoseconds length = path_random_.between(100 * kMicrosecond, scenario_.longest_cut);
  const std::uint64_t which = path_random_.below(3);
  trace("adapter %u of task %u is cut for %.3f ms%s", adapter, task, static_cast<double>(length) / 1e6,
        which == 0   ? ", outgoing"
        : which == 1 ? ", incoming"
                     : "");
  link_words_.cut(task, adapter, length);
  using Direction = SimulatedNetwork::Direction;
  for (const Direction direction : {Direction::outgoing, Direction::incoming}) {
    if (which == (direction == Direction::outgoing ? 1u : 0u)) continue;
    network_.cut({task, adapter, direction});
    time_.after(length, [this, task, adapter, direction] { network_.mend({task, adapter, direction}); });
  }
}

// For the whole run.
void Simulation::spoil_adapters() {
  const auto some_adapter = [&] { return static_cast<std::uint32_t>(path_random_.below(scenario_.networks)); };
  for (PeerIndex task = 0; scenario_.adapters_die && task != scenario_.options.tasks; ++task) {
    if (path_random_.chance(0.3)) continue;
    time_.after(path_random_.below(20 * kMillisecond), [this, task, adapter = some_adapter()] {
      trace("adapter %u of task %u dies", adapter, task);
      network_.narrow(task, adapter, 0);
    });
  }
  if (!scenario_.one_is_narrow) return;
  const auto task = static_cast<PeerIndex>(path_random_.below(scenario_.options.tasks));
  network_.narrow(task, some_adapter(), scenario_.network_limits.max_packet * 3 / 4);
}

void Simulation::isolate(PeerIndex task, Nanoseconds time) {
  std::vector<std::uint8_t> groups(scenario_.options.tasks);
  groups[task] = 1;
  network_.partition(groups);
  time_.after(time, [this] { network_.partition({}); });
}

// Packets from strangers: random bytes of any length.
void Simulation::make_noise() {
  const auto packets = static_cast<std::uint64_t>(scenario_.noise);
  for (std::uint64_t n = 0; n < packets && scenario_.flavour != Flavour::shared_memory; ++n) {
    std::vector<std::byte> bytes(random_.below(scenario_.network_limits.max_packet));
    fill_pattern(bytes, random_.next());
    const auto task = static_cast<PeerIndex>(random_.below(scenario_.options.tasks));
    const auto context = static_cast<std::uint32_t>(random_.below(scenario_.options.contexts));
    network_.inject({task, context, 0, port_of(task)}, bytes);
  }
}

// Kills somebody; without an address exchange somebody whom all have heard of that sent him something (checker.h says
// why). Tries again a little later when there is nobody.
void Simulation::maybe_kill() {
  std::vector<PeerIndex> candidates;
  std::uint32_t alive = 0;
  for (PeerIndex task = 0; task < scenario_.options.tasks; ++task) {
    if (!checker_.alive(task) || checker_.stopped(task)) continue;
    ++alive;
    const bool at_any_time = scenario_.address_exchange || scenario_.recovery;
    if (at_any_time || !checker_.first_message_unanswered(task)) candidates.push_back(task);
  }
  if (!candidates.empty() && alive > scenario_.options.tasks / 2) {
    --killings_under_way_;
    return kill(candidates[random_.below(candidates.size())]);
  }
  if (++kill_tries_ % kKillTries == 0) {
    --killings_under_way_;
    return;
  }
  time_.after(200 * kMicrosecond, [this] { maybe_kill(); });
}

void Simulation::kill(PeerIndex task) {
  trace("task %u dies", task);
  ++summary_.deaths;
  std::vector<std::uint32_t> quotas;
  for (auto& engine : engines_[task]) {
    quotas.push_back(engine->quota_left());
    engine.reset();
  }
  checker_.task_died(task);
  if (scenario_.recovery) recovery_.task_died(task);
  if (!scenario_.can_come_back(task)) return move_quotas(quotas);
  quotas_of_dead_[task] = quotas;
  ++killings_under_way_;
  if (scenario_.recovery) return;
  const Nanoseconds longest = random_.chance(0.15) ? 2 * scenario_.timeout : 50 * kMillisecond;
  time_.after(random_.between(10 * kMicrosecond, longest), [this, task] { bring_back(task); });
}

// Of all contexts of a task, which is one process.
void Simulation::pause_somebody(bool for_long) {
  const auto task = static_cast<PeerIndex>(pause_random_.below(scenario_.options.tasks));
  if (!checker_.alive(task) || checker_.stopped(task)) return;
  ++summary_.pauses;
  const bool alone = scenario_.can_come_back(task);
  const bool may_die = scenario_.address_exchange || scenario_.recovery || !alone;
  if (for_long && (may_die || !scenario_.stop_ends_in_death)) return stop_for_long(task);
  const bool slow = pause_random_.chance(0.5);
  const Nanoseconds all_pauses = scenario_.timeout * (scenario_.networks == 1 ? 9 : 5) / 10;  // paths are tried in turn
  const Nanoseconds longest = all_pauses / (std::uint64_t{scenario_.pauses} * (slow ? 9 : 1));
  const auto times = slow ? static_cast<std::uint32_t>(pause_random_.between(5, 9)) : 1;
  pause_again(task, checker_.incarnation(task), times, longest);
}

// Longer than the time-out: the others give it up meanwhile. Then it dies, or it goes on in a job that has gone on
// without it, whose users begin anew with each other if they recover.
void Simulation::stop_for_long(PeerIndex task) {
  ++summary_.long_stops;
  const Nanoseconds length = scenario_.timeout + pause_random_.between(kSecond, scenario_.timeout);
  trace("task %u is stopped for %.3f ms", task, static_cast<double>(length) / 1e6);
  const bool dies = scenario_.stop_ends_in_death;
  for (auto& engine : engines_[task]) engine->stop_until(time_.now() + (dies ? 2 * length : length));
  checker_.task_stopped(task);
  ++killings_under_way_;
  time_.after(length, [this, task, dies] {
    --killings_under_way_;
    if (dies) return kill(task);
    trace("task %u goes on", task);
    checker_.task_goes_on(task);
    if (scenario_.recovery) recovery_.task_went_on(task);
  });
}

// So many times with a few steps in between: in all of this time it lives, and nobody may call it lost. What it says in
// those steps may be lost by the network, so that all its pauses together stay below the time-out. What is left of that
// is a second, for what the network can do on top: the longest partition, 0.8 s, with no time for a retransmission
// behind it but one, as those are 0.4 s apart. A peer that is silent for longer than the time-out less the longest
// partition and two retransmissions is lost by the protocol: it cannot be told from a dead one.
void Simulation::pause_again(PeerIndex task, std::uint32_t incarnation, std::uint32_t times, Nanoseconds longest) {
  if (times == 0 || checker_.incarnation(task) != incarnation || !checker_.alive(task) || checker_.stopped(task))
    return;
  const Nanoseconds shortest = pause_random_.chance(0.5) ? longest * 9 / 10 : 20 * kMillisecond;
  const Nanoseconds length = pause_random_.between(shortest, longest);
  trace("task %u takes no step for %.3f ms", task, static_cast<double>(length) / 1e6);
  for (auto& engine : engines_[task]) engine->stop_until(time_.now() + length);
  ++pauses_under_way_;
  time_.after(length + 300 * kMicrosecond, [this, task, incarnation, times, longest] {
    --pauses_under_way_;
    pause_again(task, incarnation, times - 1, longest);
  });
}

EndpointConfig Simulation::endpoint_config(PeerIndex task, std::uint32_t context) const {
  EndpointConfig config;
  config.self = task;
  config.tasks = scenario_.all_tasks();
  config.job_key = {mix_bits(scenario_.options.seed), 0};
  config.packet_tags = mix_bits(scenario_.options.seed) % 2 != 0;  // in half of the seeds
  config.instance = context + 1;
  config.copy_limit = scenario_.copy_limit;
  config.copy_buffers = scenario_.copy_buffers;
  config.ack_threshold = scenario_.ack_threshold;
  config.idle_loops_between_timers = scenario_.idle_loops;
  config.timeout = scenario_.timeout;
  config.first_number = scenario_.first_number;
  config.first_packet = scenario_.first_packet;
  config.bulk = scenario_.bulk_on;
  config.bulk_minimum = scenario_.bulk_minimum;
  config.bulk_shared_minimum = scenario_.bulk_shared_minimum;
  return config;
}

// Its adapters are the networks, and one more for shared memory.
PortAddress Simulation::address_of(PeerIndex task, std::uint32_t context, std::uint32_t network) const {
  return {task, context, network, network == kSharedMemory ? 0 : port_of(task)};
}

PortConfig Simulation::port_config(PeerIndex task, std::uint32_t context, std::uint32_t network) const {
  const bool memory = network == kSharedMemory;
  PortConfig config;
  config.address = address_of(task, context, network);
  config.limits = memory ? scenario_.memory_limits : scenario_.network_limits;
  config.queue_packets = memory ? scenario_.memory_queue : scenario_.network_queue;
  config.readable = memory && scenario_.memory_readable;
  config.read_refusal = memory ? scenario_.read_refusal : 0;
  return config;
}

void Simulation::bring_back(PeerIndex task) {
  trace("task %u comes back", task);
  ++summary_.returns;
  --killings_under_way_;
  checker_.task_came_back(task);
  for (std::uint32_t context = 0; context < scenario_.options.contexts; ++context) {
    engines_[task][context] = std::make_unique<SimulatedEngine>(*this, task, context, quotas_of_dead_[task][context]);
  }
}

void Simulation::move_quotas(const std::vector<std::uint32_t>& quotas) {
  for (std::uint32_t context = 0; context < quotas.size(); ++context) {
    for (auto& engines : engines_) {
      if (engines[context] == nullptr) continue;
      engines[context]->add_quota(quotas[context]);
      break;
    }
  }
}

bool Simulation::everything_issued() const {
  if (killings_under_way_ != 0 || pauses_under_way_ != 0 || recovery_.under_way()) return false;
  for (const auto& engines : engines_) {
    for (const auto& engine : engines) {
      if (engine != nullptr && engine->quota_left() != 0) return false;
    }
  }
  return true;
}

bool Simulation::at_rest() {
  for (const auto& engines : engines_) {
    for (const auto& engine : engines) {
      if (engine != nullptr && !engine->is_idle()) return false;
    }
  }
  if (!checker_.all_settled()) return false;
  for (PeerIndex task = 0; task < engines_.size(); ++task) {
    for (std::uint32_t context = 0; context < engines_[task].size(); ++context) {
      const SimulatedEngine* engine = engines_[task][context].get();
      if (engine != nullptr && !checker_.unended(task, context, engine->endpoint()).empty()) return false;
    }
  }
  if (scenario_.lying_task) return true;  // what was begun towards that one may never end
  for (const auto& engines : engines_) {
    for (const auto& engine : engines) {
      if (engine != nullptr && !engine->endpoint().drained()) return false;
    }
  }
  return true;
}

std::string Simulation::what_is_not_at_rest() {
  std::string text;
  checker_.all_settled();
  for (PeerIndex task = 0; task < engines_.size(); ++task) {
    for (std::uint32_t context = 0; context < engines_[task].size(); ++context) {
      const auto& engine = engines_[task][context];
      if (engine == nullptr) continue;
      text += engine->what_it_waits_for() + checker_.unended(task, context, engine->endpoint());
      if (!scenario_.lying_task && !engine->endpoint().drained())
        text += " task " + std::to_string(task) + " is not drained;";
    }
  }
  return text + " " + checker_.unsettled();
}

void Simulation::supervise() {
  if (!finishing_ && everything_issued()) {
    finishing_ = true;
    finishing_since_ = time_.now();
    network_.partition({});
    network_.mend_all();
    network_.set_faults({});
    trace("everything is issued");
  }
  if (finishing_) {
    if (at_rest()) {
      done_ = true;
      return;
    }
    if (time_.now() - finishing_since_ > kLongestFinish) {
      return checker_.fail("not at rest:%s", what_is_not_at_rest().c_str());
    }
    supervise_every_ = std::min(supervise_every_ + supervise_every_ / 8, 100 * kMillisecond);
  }
  time_.after(supervise_every_, [this] { supervise(); });
}

void Simulation::finish() {
  trace("at rest; the latest packets may still come");
  time_.run_until(time_.now() + kLinger);
  for (PeerIndex task = 0; task < scenario_.options.tasks; ++task) {
    for (std::uint32_t context = 0; context < scenario_.options.contexts; ++context) checker_.look(task, context);
  }
  checker_.check_end();
  check_statistics();
  check_bulk();
  for (const LieArena& arena : arenas_) {
    if (!arena.intact()) checker_.fail("one who lies has had something written beside what it named");
  }
}

void Simulation::check_bulk() {
  if (!bulk_network_.complaint().empty()) checker_.fail("%s", bulk_network_.complaint().c_str());
  if (bulk_network_.exposures() != 0 && !scenario_.lying_task) {
    checker_.fail("%zu pieces of memory are still exposed", bulk_network_.exposures());
  }
}

// What was sent has been received, when nobody died or was purged on the way.
void Simulation::check_statistics() {
  if (checker_.anything_given_up() || scenario_.lying_task) return;
  for (const StatisticsPath path : {StatisticsPath::network, StatisticsPath::shared_memory, StatisticsPath::local}) {
    std::uint64_t sent = 0, received = 0;
    for (const auto& engines : engines_) {
      for (const auto& engine : engines) {
        const MessageStatistics statistics = engine->endpoint().statistics(path);
        sent += statistics.data_sent;
        received += statistics.data_received;
      }
    }
    // What a task reads from another's memory the other does not notice.
    const bool unnoticed = path == StatisticsPath::shared_memory && scenario_.memory_readable;
    if (unnoticed ? sent > received : sent != received) {
      checker_.fail("statistics of path %d: %llu bytes sent, %llu received", static_cast<int>(path),
                    static_cast<unsigned long long>(sent), static_cast<unsigned long long>(received));
    }
  }
}

void Simulation::collect_statistics() {
  for (const auto& engines : engines_) {
    for (const auto& engine : engines) {
      if (engine == nullptr) continue;
      const MessageStatistics statistics = engine->endpoint().statistics(StatisticsPath::network);
      summary_.retransmitted += statistics.retransmitted_packets;
      summary_.duplicates += statistics.duplicate_packets;
      summary_.ghosts += statistics.ghost_packets;
      for (const StatisticsPath path : {StatisticsPath::network, StatisticsPath::shared_memory}) {
        summary_.bulk_messages += engine->endpoint().statistics(path).bulk_received;
        summary_.bulk_fallbacks += engine->endpoint().statistics(path).bulk_fallbacks;
      }
    }
  }
  for (const Operation& operation : checker_.operations()) summary_.excused += operation.issued && operation.excused;
  summary_.network = network_.counters();
  summary_.link_words = link_words_.told();
  summary_.bulk = bulk_network_.counters();
  summary_.virtual_time = time_.now() - kSecond;
  summary_.events = time_.events_run();
}

}  // namespace openlapi::simulation
