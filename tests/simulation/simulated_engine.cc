#include "tests/simulation/simulated_engine.h"

#include <algorithm>

#include "dataplane/sync/collectives.h"
#include "dataplane/sync/fences.h"
#include "tests/simulation/simulation.h"
#include "tests/support/address.h"

namespace openlapi::simulation {

namespace {

constexpr std::size_t kMostFences = 2;  // at a time
constexpr Nanoseconds kLongestRefusalWait = kMillisecond;

}  // namespace

SimulatedEngine::SimulatedEngine(Simulation& simulation, PeerIndex task, std::uint32_t context, std::uint32_t quota)
    : simulation_(simulation),
      scenario_(simulation.scenario()),
      checker_(simulation.checker()),
      time_(simulation.time()),
      task_(task),
      context_(context),
      random_(scenario_.options.seed, (std::uint64_t{checker_.incarnation(task)} << 32) + task * 16 + context + 1),
      source_(scenario_, checker_, task, context, random_),
      quota_left_(quota),
      share_(quota) {
  open_transports();
  EndpointConfig config = simulation_.endpoint_config(task, context);
  config.epoch = simulation_.begin_incarnation(task, context);
  std::vector<Transport*> transports;
  for (const auto& transport : transports_) transports.push_back(transport.get());
  endpoint_ = std::make_unique<Endpoint>(config, transports, time_.clock(), *this, *this);
  source_.set_edges(endpoint_->sizes().packet_payload, endpoint_->sizes().user_header);
  next_issue_ = time_.now() + random_.below(2 * scenario_.issue_gap);
  step_within(scenario_.issue_gap);
}

SimulatedEngine::~SimulatedEngine() {
  *alive_ = false;
  endpoint_.reset();
}

void SimulatedEngine::open_transports() {
  if (!scenario_.can_come_back(task_)) {
    const PortConfig memory = simulation_.port_config(task_, context_, Simulation::kSharedMemory);
    transports_.push_back(std::make_unique<SimulatedTransport>(simulation_.network(), memory));
  }
  for (std::uint32_t network = 0; scenario_.flavour != Flavour::shared_memory && network < scenario_.adapters[task_];
       ++network) {
    const PortConfig config = simulation_.port_config(task_, context_, network);
    transports_.push_back(std::make_unique<SimulatedTransport>(simulation_.network(), config));
    const bool has_bulk = scenario_.bulk_adapters && (network == 0 || scenario_.bulk_on_all_networks);
    if (has_bulk) open_bulk_memory(*transports_.back());
  }
  for (const auto& transport : transports_) {
    transport->set_arrival_listener([this] { step_within(3 * kMicrosecond); });
  }
}

void SimulatedEngine::open_bulk_memory(SimulatedTransport& transport) {
  BulkConfig config;
  config.task = task_;
  config.context = context_;
  config.network = transport.network();
  config.longest_read = scenario_.bulk_longest_read;
  config.room = scenario_.bulk_room;
  config.wakes = scenario_.bulk_wakes;
  config.faults = scenario_.bulk_faults;
  bulk_memories_.push_back(std::make_unique<SimulatedBulkMemory>(simulation_.bulk_network(), config));
  bulk_memories_.back()->set_ending_listener([this] { step_within(3 * kMicrosecond); });
  transport.set_bulk_memory(bulk_memories_.back().get());
}

Route SimulatedEngine::resolve(PeerIndex peer) {
  Route route;
  for (const auto& transport : transports_) {
    const bool is_memory = transport->limits().reliable;
    if (is_memory ? !scenario_.share_node(task_, peer) : transport->network() >= scenario_.adapters[peer]) continue;
    route.paths[route.count++] = transport.get();
    std::string error;
    const PortAddress address = simulation_.address_of(peer, context_, transport->network());
    transport->add_peer(peer, SimulatedTransport::encode(address), error);
  }
  if (scenario_.one_switch && !scenario_.is_liar(peer)) add_other_ends(peer, route);
  if (scenario_.address_exchange && !scenario_.is_liar(peer)) {
    // What the peer has published last: while it is dead, its former incarnation's.
    route.epoch = simulation_.published_epoch(peer, context_);
    checker_.told_of(task_, context_, peer,
                     checker_.alive(peer) ? checker_.incarnation(peer) : checker_.incarnation(peer) - 1);
  }
  return route;
}

void SimulatedEngine::add_other_ends(PeerIndex peer, Route& route) {
  const std::uint32_t pairs = scenario_.pairs(task_, peer);
  for (const auto& transport : transports_) {
    for (std::uint32_t network = 0; !transport->limits().reliable && network != scenario_.adapters[peer]; ++network) {
      const std::uint32_t path = transport->network() < pairs ? transport->network() : network;
      if (network == transport->network() || path >= pairs) continue;
      const PeerIndex number = peer + (network + 1) * scenario_.all_tasks();
      std::string error;
      transport->add_peer(number, SimulatedTransport::encode(simulation_.address_of(peer, context_, network)), error);
      route.other_ends.push_back({adapter(path), number, transport.get()});
    }
  }
}

Transport* SimulatedEngine::adapter(std::uint32_t network) const {
  for (const auto& transport : transports_) {
    if (!transport->limits().reliable && transport->network() == network) return transport.get();
  }
  return nullptr;
}

bool SimulatedEngine::address_changed(PeerIndex peer, const PeerAddress& published, const PeerAddress& present) {
  bool any = false;
  for (const auto& transport : transports_) {
    if (transport->limits().reliable) continue;
    for (std::uint32_t network = 0; network != scenario_.adapters[peer]; ++network) {
      const bool home = network == transport->network();
      if (!home && !scenario_.one_switch) continue;
      if (SimulatedTransport::encode(simulation_.address_of(peer, context_, network)) != published) continue;
      std::string error;
      transport->add_peer(home ? peer : peer + (network + 1) * scenario_.all_tasks(), present, error);
      any = true;
    }
  }
  return any;
}

void SimulatedEngine::add_quota(std::uint32_t operations) {
  quota_left_ += operations;
  step_within(scenario_.issue_gap);
}

// The process is stopped: nothing of it happens before that moment.
void SimulatedEngine::stop_until(Nanoseconds when) {
  stopped_until_ = when;
  next_step_ = UINT64_MAX;
  step_at(when);
}

void SimulatedEngine::wake() { step_within(kMicrosecond); }

void SimulatedEngine::step_within(Nanoseconds longest) { step_at(time_.now() + random_.between(50, longest)); }

void SimulatedEngine::step_at(Nanoseconds when, Step kind) {
  when = std::max({when, stalled_until_, stopped_until_});
  if (when >= next_step_) return;
  next_step_ = when;
  next_kind_ = kind;
  time_.at(when, [this, alive = alive_, token = ++step_token_] {
    if (!*alive || token != step_token_) return;
    next_step_ = UINT64_MAX;
    step();
  });
}

void SimulatedEngine::step() {
  const bool moved = endpoint_->progress(next_kind_) != 0;
  checker_.look(task_, context_);
  check_bounds();
  if (scenario_.lying_task && context_ + 1 == scenario_.options.contexts) bait_the_liar();
  look_at_fences();
  advance_collectives();
  issue_some();
  plan_next_step(moved);
}

void SimulatedEngine::plan_next_step(bool moved) {
  const Nanoseconds now = time_.now();
  if (!simulation_.calm() && random_.chance(0.002)) {
    // The task is off its core; nothing that arrives wakes it.
    stalled_until_ = now + random_.between(kMillisecond, 8 * kMillisecond);
    return step_at(stalled_until_);
  }
  if (moved || endpoint_->has_work()) {
    // As a task polls on; every other time as one that does something else between its calls.
    return step_at(now + random_.between(50, 1500), step_token_ % 2 == 0 ? Step::again : Step::first);
  }
  const Nanoseconds deadline = endpoint_->deadline();
  if (deadline != UINT64_MAX) step_at(std::max(deadline, now + 200));
  if (refused_ != nullptr) return step_within(refusal_wait_);
  const bool wants_collective =
      !scenario_.lying_task && !in_collective_ && !waits_for_fence() && collectives_begun_ < Simulation::kCollectives;
  if (quota_left_ != 0 || (wants_collective && !checker_.anything_given_up()))
    step_at(std::max(next_issue_, now + 200));
}

void SimulatedEngine::issue_some() {
  if (time_.now() < next_issue_) return;
  next_issue_ = time_.now() + random_.below(2 * scenario_.issue_gap);
  for (std::uint64_t n = random_.chance(0.05) ? 20 : random_.between(1, 3); n != 0 && quota_left_ != 0; --n) {
    if (refused_ == nullptr) {
      if (favourites_.empty()) {
        refused_ = source_.next();
      } else {
        refused_ = source_.next(favourites_.back());
        favourites_.pop_back();
      }
      if (refused_ == nullptr) {
        --quota_left_;
        continue;
      }
    }
    const Submit result = issue(*refused_);
    if (result == Submit::busy) return;
    refused_ = nullptr;
    if (result == Submit::purged) continue;
    --quota_left_;
    maybe_begin_fence();
  }
}

Submit SimulatedEngine::issue(Operation& operation) {
  // Its addresses are those of a task that is no more.
  if (operation.target_incarnation != checker_.incarnation(operation.target)) return Submit::accepted;
  const Submit result = submit(operation);
  if (result == Submit::busy) {
    refusal_wait_ = std::min(refusal_wait_ + 5 * kMicrosecond, kLongestRefusalWait);
    return result;
  }
  refusal_wait_ = kMicrosecond;
  if (result == Submit::unreachable) checker_.fail("task %u finds no way to task %u", task_, operation.target);
  const bool purged = operation.target != task_ && checker_.purged(task_, context_, operation.target);
  if (purged != (result == Submit::purged)) {
    checker_.fail("task %u %s an operation to task %u, which it %s", task_, purged ? "accepts" : "refuses",
                  operation.target, purged ? "has purged" : "has not purged");
  }
  if (result == Submit::purged) {
    ++simulation_.tally().refused;
    return result;
  }
  simulation_.operation_issued(operation);
  checker_.issued(operation);
  return result;
}

void SimulatedEngine::purge(PeerIndex peer) {
  simulation_.trace("task %u context %u purges task %u", task_, context_, peer);
  ++simulation_.tally().purges;
  ++purges_;
  checker_.purge_begins(task_, context_, peer);
  endpoint_->purge(peer);
  checker_.purge_ended(task_, context_, peer, *endpoint_);
  step_within(kMicrosecond);
}

void SimulatedEngine::resume(PeerIndex peer) {
  simulation_.trace("task %u context %u resumes task %u", task_, context_, peer);
  ++simulation_.tally().resumes;
  endpoint_->resume(peer, simulation_.next_epoch(task_, context_));
  checker_.resumed(task_, context_, peer);
}

void SimulatedEngine::favour(PeerIndex peer, std::uint32_t operations) {
  favourites_.insert(favourites_.end(), operations, peer);
  share_ += operations;
  add_quota(operations);
}

Submit SimulatedEngine::submit(Operation& operation) {
  const HandlerCall handler = origin_handler(operation);
  const std::uint64_t origin = address(operation.origin_counter);
  const std::uint64_t target = address(operation.target_counter);
  const std::uint64_t completion = address(operation.completion_counter);
  const bool described = operation.kind == Kind::active_message ? !operation.from.contiguous() : operation.has_layout();
  if (described) return submit_layout(operation, handler);
  const std::uint64_t draw = mix_bits(operation.key + 3) % 8;
  const BulkHint hint = draw == 0 ? BulkHint::never : draw == 1 ? BulkHint::always : BulkHint::by_task;
  switch (operation.kind) {
    case Kind::put:
      return endpoint_->put({operation.target, address(operation.place.data()), operation.data.get(), operation.length,
                             target, origin, completion, handler, hint});
    case Kind::get:
      return endpoint_->get({operation.target, address(operation.source.data()), operation.place.data(),
                             operation.length, target, origin, handler, hint});
    case Kind::active_message:
      return endpoint_->active_message({operation.target, operation.id, operation.header.get(), operation.header_length,
                                        operation.data.get(), operation.length, target, origin, completion, handler,
                                        hint});
    case Kind::read_modify_write:
      break;
  }
  return endpoint_->read_modify_write({operation.target, operation.word->operation, operation.word->width,
                                       address(operation.word->place), operation.input, operation.swap_value,
                                       operation.place.data(), origin, handler});
}

Submit SimulatedEngine::submit_layout(Operation& operation, const HandlerCall& handler) {
  const std::uint64_t origin = address(operation.origin_counter);
  const std::uint64_t target = address(operation.target_counter);
  const std::uint64_t completion = address(operation.completion_counter);
  const std::size_t entries = operation.from.list.size() + operation.to.list.size();
  longest_lists_ = std::max<std::uint64_t>(longest_lists_, entries * sizeof(LayoutPiece));
  const std::unique_ptr<LayoutCursor> from = operation.from.cursor();
  if (operation.kind == Kind::active_message) {
    return endpoint_->layout_message({operation.target, operation.id, operation.header.get(), operation.header_length,
                                      from.get(), operation.is_vector(), target, origin, completion, handler});
  }
  const std::unique_ptr<LayoutCursor> to = operation.to.cursor();
  if (operation.kind == Kind::get) {
    return endpoint_->get_layout({operation.target, from.get(), to.get(), target, origin, handler});
  }
  return endpoint_->put_layout({operation.target, from.get(), to.get(), target, origin, completion, handler});
}

void SimulatedEngine::maybe_begin_fence() {
  if (fences_.size() >= kMostFences || baits_ != 0 || !random_.chance(0.04)) return;
  const std::size_t operations = checker_.issued_by(task_, context_);
  fences_.push_back({endpoint_->fences().begin(), operations, purges_});
}

void SimulatedEngine::look_at_fences() {
  std::erase_if(fences_, [&](const Fence& fence) {
    const FenceState state = endpoint_->fences().state(fence.ticket);
    if (state == FenceState::pending) return false;
    if (state == FenceState::peer_lost && !checker_.anybody_died()) {
      checker_.fail("a fence of task %u lost a peer, but nobody died", task_);
    }
    if (state == FenceState::peer_purged && fence.purges == purges_) {
      checker_.fail("a fence of task %u met a purge that there was not", task_);
    }
    checker_.check_all_in_place(task_, context_, fence.operations, "a fence");
    ++simulation_.tally().fences;
    return true;
  });
}

// The n-th collective begins after n parts of the operations; every third one has a fence in front of it.
void SimulatedEngine::advance_collectives() {
  if (scenario_.lying_task) return;
  if (in_collective_) {
    const CollectiveState state = endpoint_->collectives().state();
    if (state == CollectiveState::pending) return;
    if (state == CollectiveState::filled) {
      check_exchanged();
      return endpoint_->collectives().confirm_exchange();
    }
    in_collective_ = false;
    if (checker_.anything_given_up()) return;
    if (state == CollectiveState::peer_lost) checker_.fail("a collective of task %u lost a peer", task_);
    return collective_done();
  }
  if (checker_.anything_given_up() || collectives_begun_ == Simulation::kCollectives) return;
  const std::uint32_t issued = share_ - quota_left_;
  if (issued < share_ * (collectives_begun_ + 1) / (Simulation::kCollectives + 1)) return;
  if (collectives_begun_ % 3 == 0 && !fence_before_barrier_) {
    fence_before_barrier_ = true;
    fenced_operations_ = checker_.issued_by(task_, context_);
    fences_.push_back({endpoint_->fences().begin(), fenced_operations_, purges_});
  }
  if (waits_for_fence()) return;
  begin_collective();
}

void SimulatedEngine::begin_collective() {
  const std::uint32_t number = collectives_begun_++;
  in_collective_ = true;
  // With a fence before it: everything older than the fence. Operations issued while it was pending do not count.
  simulation_.collective_begun(task_, context_, number, fence_before_barrier_ ? fenced_operations_ : 0);
  fence_before_barrier_ = false;
  if (number % 2 == 0) {
    endpoint_->collectives().begin_barrier();
  } else {
    endpoint_->collectives().begin_exchange(mix_bits(number * 1000 + task_));
  }
  simulation_.trace("task %u context %u begins collective %u", task_, context_, number);
}

void SimulatedEngine::check_exchanged() {
  const std::uint32_t number = collectives_begun_ - 1;
  const std::span<const std::uint64_t> values = endpoint_->collectives().exchanged();
  bool right = values.size() == scenario_.options.tasks;
  for (PeerIndex task = 0; right && task < values.size(); ++task)
    right = values[task] == mix_bits(number * 1000 + task);
  if (!right) checker_.fail("task %u got wrong values from exchange %u", task_, number);
}

void SimulatedEngine::collective_done() {
  const std::uint32_t number = collectives_begun_ - 1;
  ++simulation_.tally().collectives;
  if (!simulation_.all_have_begun(context_, number)) {
    checker_.fail("task %u left collective %u of context %u before all had begun it", task_, number, context_);
  }
  for (PeerIndex task = 0; task < scenario_.options.tasks; ++task) {
    checker_.check_all_in_place(task, context_, simulation_.issued_before(task, context_, number), "a global fence");
  }
}

bool SimulatedEngine::is_idle() const {
  const bool collectives_over = scenario_.lying_task || checker_.anything_given_up() ||
                                (collectives_begun_ == Simulation::kCollectives && !in_collective_);
  return quota_left_ == 0 && refused_ == nullptr && completions_queued_ == 0 && fences_.empty() && collectives_over;
}

std::string SimulatedEngine::what_it_waits_for() const {
  if (is_idle()) return "";
  return " task " + std::to_string(task_) + " context " + std::to_string(context_) + ": " +
         std::to_string(quota_left_) + " operations, " + std::to_string(fences_.size()) + " fences, " +
         std::to_string(completions_queued_) + " completions, collective " + std::to_string(collectives_begun_) +
         (in_collective_ ? " under way;" : ";");
}

}  // namespace openlapi::simulation
