#include "tests/simulation/path_trial.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>

#include "dataplane/peers/peer_table.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/packet_header.h"
#include "tests/simulation/byte_pattern.h"
#include "tests/simulation/simulation.h"
#include "tests/support/address.h"

namespace openlapi::simulation {

namespace {

constexpr std::uint64_t kTrialStream = 0x747269616c;
constexpr Nanoseconds kLatestPackets = 3 * kSecond;  // of the run
constexpr Nanoseconds kStep = 100 * kMicrosecond;
constexpr Nanoseconds kSlack = 100 * kMillisecond;  // packets, steps, a queue that overflows
constexpr Nanoseconds kBackIn = tuning::kLongestProbePause + kSlack;
// The request over the path and the answer over it, where both sides have measured it.
constexpr Nanoseconds kSilence = 3 * tuning::kShortestRetransmitTimeout;
constexpr Nanoseconds kDoubt = tuning::kShortestRetransmitTimeout;
constexpr Nanoseconds kWord = 5 * kMillisecond;
constexpr Nanoseconds kQuickRoundTrip = 200 * kMicrosecond;
constexpr unsigned kSamples = 100;  // until time-outs follow the round trips of a calm network
constexpr std::size_t kLong = 512 * 1024;
constexpr unsigned kTimesLate = 3;

double in_ms(Nanoseconds time) { return static_cast<double>(time) / 1e6; }

}  // namespace

PathTrial::PathTrial(Simulation& simulation)
    : simulation_(simulation), scenario_(simulation.scenario()), random_(scenario_.options.seed, kTrialStream) {}

PathTrial::~PathTrial() { simulation_.network().set_departure_listener({}); }

void PathTrial::run() {
  const bool some_never_serve = scenario_.adapters_die || scenario_.one_is_narrow;
  if (scenario_.networks == 1 || some_never_serve || scenario_.lying_task || !choose_pair()) return;
  simulation_.trace("trial of the paths between tasks %u and %u", sides_[0].task, sides_[1].task);
  simulation_.set_calm();
  wait(kLatestPackets);
  simulation_.network().set_departure_listener(
      [this](const PortAddress& from, PeerIndex to, const OutgoingPacket& packet) { packet_leaves(from, to, packet); });
  using Stage = void (PathTrial::*)();
  const std::initializer_list<Stage> of_several = {
      &PathTrial::all_serve,  &PathTrial::each_serves_alone, &PathTrial::one_goes_silent, &PathTrial::it_comes_back,
      &PathTrial::false_word, &PathTrial::true_word,         &PathTrial::old_row,         &PathTrial::all_go_silent,
      &PathTrial::one_moves,  &PathTrial::both_move,         &PathTrial::all_of_one_move, &PathTrial::pairs_go_silent};
  const std::initializer_list<Stage> of_one = {&PathTrial::all_serve, &PathTrial::pairs_go_silent,
                                               &PathTrial::all_go_silent, &PathTrial::all_of_one_move,
                                               &PathTrial::pairs_go_silent};
  for (const Stage stage : pairs_ > 1 ? of_several : of_one) {
    if (!simulation_.checker().failed()) (this->*stage)();
  }
}

bool PathTrial::may_work(PeerIndex one, PeerIndex other) const {
  const Checker& checker = simulation_.checker();
  return checker.alive(one) && !checker.stopped(one) && !checker.purged(one, 0, other) &&
         !checker.disturbed(one, 0, other) && !checker.died_during(one, 0, other);
}

bool PathTrial::choose_pair() {
  std::vector<std::pair<PeerIndex, PeerIndex>> pairs;
  for (PeerIndex one = 0; one < scenario_.options.tasks; ++one) {
    for (PeerIndex other = 0; other < scenario_.options.tasks; ++other) {
      if (one == other || scenario_.share_node(one, other)) continue;
      if (std::max(scenario_.adapters[one], scenario_.adapters[other]) == 1) continue;
      if (may_work(one, other) && may_work(other, one)) pairs.emplace_back(one, other);
    }
  }
  if (pairs.empty()) return false;
  const auto [one, other] = pairs[random_.below(pairs.size())];
  pairs_ = scenario_.pairs(one, other);
  for (Side& side : sides_) {
    side.task = &side == &sides_[0] ? one : other;
    side.engine = simulation_.engine(side.task, 0);
    side.data.resize(std::max<std::size_t>(kLong, std::size_t{16} * scenario_.network_limits.max_packet));
    side.room.resize(side.data.size());
    side.packets.resize(scenario_.networks);
  }
  return true;
}

void PathTrial::packet_leaves(const PortAddress& from, PeerIndex to, const OutgoingPacket& packet) {
  if (from.context != 0) return;
  for (unsigned side = 0; side != 2; ++side) {
    if (from.task != sides_[side].task || to != sides_[1 - side].task) continue;
    const ConstBuffer& head = packet.pieces.front();
    wire::PacketHeader header;
    wire::decode({static_cast<const std::byte*>(head.data), head.length}, header);
    sides_[side].packets[from.adapter] += (header.flags & wire::kPacketHasData) != 0;
  }
}

// ---- work ----

// Where there is no room the operation has not begun.
bool PathTrial::submitted(unsigned origin, Submit result) {
  if (result != Submit::accepted && result != Submit::busy) {
    simulation_.checker().fail("task %u refuses an operation to task %u", sides_[origin].task, sides_[1 - origin].task);
  }
  sides_[origin].engine->wake();
  return result == Submit::accepted;
}

void PathTrial::put(unsigned origin, bool complete) {
  Side& from = sides_[origin];
  Side& to = sides_[1 - origin];
  const std::uint64_t number = ++from.puts;
  std::uint64_t completion = 0;
  if (complete) {
    Operation& operation = under_way_.emplace_back();
    operation.origin = origin;
    operation.begun = simulation_.time().now();
    operation.number = number;
    completion = address(&operation.counter);
  }
  const Submit result = from.engine->endpoint().put(
      {to.task, address(&to.slots[number % kSlots]), &number, sizeof(number), 0, 0, completion});
  if (!submitted(origin, result) && complete) under_way_.pop_back();
}

void PathTrial::add(unsigned origin) {
  Side& from = sides_[origin];
  Side& to = sides_[1 - origin];
  Operation& operation = under_way_.emplace_back();
  operation.origin = origin;
  operation.begun = simulation_.time().now();
  operation.adds = true;
  operation.number = from.adds;
  const Submit result =
      from.engine->endpoint().read_modify_write({to.task, wire::RmwOperation::fetch_and_add, 8, address(&to.word), 1, 0,
                                                 &operation.previous, address(&operation.counter)});
  if (submitted(origin, result)) {
    ++from.adds;
  } else {
    under_way_.pop_back();
  }
}

// Right after it has begun all networks but one go silent.
void PathTrial::put_long(unsigned origin, std::uint32_t over) {
  Side& from = sides_[origin];
  Side& to = sides_[1 - origin];
  const std::uint64_t key = ++from.puts;
  fill_pattern(from.data, key);
  int completion = 0;
  const Submit result = from.engine->endpoint().put({to.task,
                                                     address(to.room.data()),
                                                     from.data.data(),
                                                     from.data.size(),
                                                     0,
                                                     0,
                                                     address(&completion),
                                                     {},
                                                     BulkHint::never});
  if (!submitted(origin, result)) return;
  wait(kStep);
  for (std::uint32_t network = 0; network != scenario_.networks; ++network) {
    if (network != over) cut(network);
  }
  const Nanoseconds latest = simulation_.time().now() + bound_;
  while (completion == 0 && simulation_.time().now() < latest) wait(kStep);
  if (completion == 1 && has_pattern(to.room, key)) return;
  simulation_.checker().fail(
      "a put of %zu bytes from task %u to task %u over network %u is not complete after %.3f ms%s", from.data.size(),
      from.task, to.task, over, in_ms(bound_), completion == 0 ? "" : ", or wrong");
}

void PathTrial::look() {
  const Nanoseconds now = simulation_.time().now();
  std::erase_if(under_way_, [&](const Operation& operation) {
    const Side& from = sides_[operation.origin];
    const Side& to = sides_[1 - operation.origin];
    if (operation.counter == 0) {
      if (now - operation.begun > bound_) {
        simulation_.checker().fail("an operation of task %u with task %u is under way for %.3f ms; at most %.3f ms",
                                   from.task, to.task, in_ms(now - operation.begun), in_ms(bound_));
      }
      return false;
    }
    const std::uint64_t found = operation.adds ? operation.previous : to.slots[operation.number % kSlots];
    if (operation.counter != 1 || found != operation.number) {
      simulation_.checker().fail("task %u and task %u: a counter is %d, and %llu was found instead of %llu", from.task,
                                 to.task, operation.counter, static_cast<unsigned long long>(found),
                                 static_cast<unsigned long long>(operation.number));
    }
    return true;
  });
}

void PathTrial::wait(Nanoseconds time) {
  VirtualTime& clock = simulation_.time();
  for (const Nanoseconds until = clock.now() + time; clock.now() < until && !simulation_.checker().failed();) {
    clock.run_until(std::min(clock.now() + kStep, until));
    look();
  }
}

// Both work, little by little.
void PathTrial::work(Nanoseconds time, Nanoseconds pause) {
  const Nanoseconds until = simulation_.time().now() + time;
  while (simulation_.time().now() < until && !simulation_.checker().failed()) {
    for (unsigned side = 0; side != 2; ++side) {
      put(side, true);
      add(side);
    }
    wait(pause);
  }
  finish_all();
}

void PathTrial::finish_all() {
  while (!under_way_.empty() && !simulation_.checker().failed()) wait(kStep);
}

// ---- paths ----

std::vector<PathStatus> PathTrial::paths(unsigned side) const {
  return sides_[side].engine->endpoint().peers().paths_to(sides_[1 - side].task);
}

std::uint32_t PathTrial::network_of(const PathStatus& path) const {
  return static_cast<const SimulatedTransport*>(path.transport)->network();
}

// For what is short.
std::uint32_t PathTrial::network_used_by(unsigned side) const {
  for (const PathStatus& path : paths(side)) {
    if (path.in_use) return network_of(path);
  }
  return 0;
}

PathStatus PathTrial::path_over(unsigned side, std::uint32_t network) const {
  for (const PathStatus& path : paths(side)) {
    if (network_of(path) == network) return path;
  }
  return {};
}

void PathTrial::cut(std::uint32_t network, unsigned from) {
  simulation_.network().cut({sides_[from].task, network, SimulatedNetwork::Direction::outgoing});
}

void PathTrial::cut(std::uint32_t network) {
  for (unsigned side = 0; side != 2; ++side) cut(network, side);
}

void PathTrial::tell(unsigned side, bool up) { simulation_.network().tell_of_link(sides_[side].task, chosen_, up); }

void PathTrial::expect_all_serve(const char* when) {
  for (unsigned side = 0; side != 2; ++side) {
    for (const PathStatus& path : paths(side)) {
      if (path.silent_since == 0) continue;
      simulation_.checker().fail("%s: task %u does not use network %u to task %u, which serves", when,
                                 sides_[side].task, network_of(path), sides_[1 - side].task);
    }
  }
}

// ---- stages ----

void PathTrial::all_serve() {
  bound_ = kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;  // what the run has left behind
  work(kBackIn, 10 * kMillisecond);
  expect_all_serve("in a calm network");
}

// What was on its way over the others leaves over this one; and what it had in flight when it was another's turn is not
// missed.
void PathTrial::each_serves_alone() {
  for (std::uint32_t network = 0; network != pairs_ && !simulation_.checker().failed(); ++network) {
    for (unsigned side = 0; side != 2 && !simulation_.checker().failed(); ++side) {
      bound_ = kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;
      put_long(side, network);
      simulation_.network().mend_all();
      work(kBackIn, 50 * kMillisecond);
      expect_all_serve("after it was another network's turn");
    }
  }
}

// One that both use, in one direction or in both. The second side finds it out first.
void PathTrial::one_goes_silent() {
  work(kSamples * kStep, kStep);
  chosen_ = network_used_by(0);
  const std::array failures{path_over(0, chosen_).failures, path_over(1, chosen_).failures};
  const std::uint64_t which = random_.below(3);
  dead_ = {which != 0, which != 1};
  for (unsigned side = 0; side != 2; ++side) {
    if (dead_[side]) cut(chosen_, side);
  }
  simulation_.trace("network %u goes silent%s", chosen_, which == 2 ? "" : which == 0 ? ", backward" : ", forward");
  for (unsigned n = 0; n != 200; ++n) {
    put(1, false);
    wait(kStep);
    if (n != 150) continue;
    const bool doubts = network_used_by(1) != chosen_ && path_over(0, chosen_).round_trip < kQuickRoundTrip;
    bound_ = doubts ? kDoubt : kSilence;
    add(0);
  }
  finish_all();
  bound_ = kSilence;
  work(50 * kMillisecond, kMillisecond);
  for (unsigned side = 0; side != 2 && !simulation_.checker().failed(); ++side) {
    it_stays_silent(side);
  }
  for (unsigned side = 0; side != 2; ++side) expect_one_failure(side, failures[side]);
}

// Who does not use it may not know. Over one switch it may lead to another adapter of the other side and serve, while
// that side is late and all paths are silent; then it fails again when the others have answered and it leads home.
void PathTrial::expect_one_failure(unsigned side, std::uint64_t before) {
  const PathStatus path = path_over(side, chosen_);
  if (path.transport == nullptr) return;  // it leads elsewhere meanwhile
  const std::uint64_t more = path.failures - before;
  if (more <= (scenario_.one_switch ? 1 + kTimesLate : 1) || simulation_.checker().failed()) return;
  simulation_.checker().fail("task %u has found %llu failures of network %u, which went silent once", sides_[side].task,
                             static_cast<unsigned long long>(more), chosen_);
}

// The other side is late in between: time-outs run out, and answers come to what was sent again meanwhile. Of who hears
// nothing over the path, while what he sends there arrives, it may have some then.
void PathTrial::it_stays_silent(unsigned from) {
  Side& side = sides_[from];
  const PathStatus before_silence = path_over(from, chosen_);
  for (unsigned turn = 0; turn != kTimesLate && !simulation_.checker().failed(); ++turn) {
    bound_ = kSilence + tuning::kLongestRetransmitTimeout;
    put(from, true);
    const Nanoseconds length = 12 * kMillisecond << turn;
    sides_[1 - from].engine->stop_until(simulation_.time().now() + length);
    work(length, kMillisecond);
    work(kSlack, 20 * kMillisecond);
    bound_ = kSilence;
    if (!dead_[from]) continue;
    const std::uint64_t before = side.packets[chosen_];
    work(700 * kMillisecond, 20 * kMillisecond);
    if (side.packets[chosen_] != before) {
      simulation_.checker().fail("task %u sends %llu packets with data over network %u, which is dead", side.task,
                                 static_cast<unsigned long long>(side.packets[chosen_] - before), chosen_);
    }
  }
  const PathStatus present = path_over(from, chosen_);
  // And not elsewhere meanwhile.
  const bool leads_there = before_silence.transport != nullptr && present.transport != nullptr;
  if (dead_[from] && leads_there && present.round_trip != before_silence.round_trip) {
    simulation_.checker().fail("task %u has measured a round trip over network %u, which is dead", side.task, chosen_);
  }
}

void PathTrial::it_comes_back() {
  simulation_.network().mend_all();
  dead_ = {};
  work(kBackIn, 20 * kMillisecond);
  expect_all_serve("after the longest pause between probes");
}

// Of the network that was silent before, which others may be preferred to since, and of the one in use.
void PathTrial::false_word() {
  const auto side = static_cast<unsigned>(random_.below(2));
  for (const std::uint32_t network : {chosen_, network_used_by(side)}) {
    chosen_ = network;
    tell(side, false);
    work(10 * tuning::kFirstProbePause, kMillisecond);
    expect_all_serve("after false word");
    tell(side, true);
    work(10 * kMillisecond, kMillisecond);
  }
}

// What was said of the link in the run, and found wrong, is said no more first: it would make true word no news.
void PathTrial::true_word() {
  chosen_ = network_used_by(0);
  for (unsigned side = 0; side != 2; ++side) tell(side, true);
  if (scenario_.has_matrix) {  // which is found wrong before the true word comes
    simulation_.network().tell_in_matrix(sides_[1].task, chosen_, false);
    work(10 * tuning::kFirstProbePause, kMillisecond);
    expect_all_serve("after an old row of the matrix, before true word");
  }
  work(kSamples * kStep, kStep);
  bound_ = kWord;
  for (unsigned side = 0; side != 2; ++side) add(side);
  cut(chosen_);
  for (unsigned side = 0; side != 2; ++side) tell(side, false);
  work(50 * kMillisecond, kMillisecond);
  simulation_.network().mend_all();
  for (unsigned side = 0; side != 2; ++side) tell(side, true);
  work(50 * kMillisecond, kMillisecond);
  expect_all_serve("after true word");
  if (scenario_.has_matrix) simulation_.network().tell_in_matrix(sides_[1].task, chosen_, true);
}

// Of the other side's adapter the matrix says for good that it is down. That is found out, and not believed anew when
// the matrix says something else of others.
void PathTrial::old_row() {
  const auto side = static_cast<unsigned>(random_.below(2));
  const PeerIndex other = sides_[1 - side].task;
  chosen_ = network_used_by(side);
  SimulatedNetwork& network = simulation_.network();
  network.tell_in_matrix(other, chosen_, false);
  work(10 * tuning::kFirstProbePause, kMillisecond);
  expect_all_serve("after an old row of the matrix");
  for (unsigned n = 0; n != 10 && !simulation_.checker().failed(); ++n) {
    network.tell_in_matrix(other, scenario_.networks, n % 2 != 0);  // which it does not use
    work(2 * kMillisecond, kMillisecond);
    expect_all_serve("after news of another adapter in the matrix");
  }
  network.tell_in_matrix(other, chosen_, true);
  work(10 * kMillisecond, kMillisecond);
}

void PathTrial::all_go_silent() {
  for (std::uint32_t network = 0; network != scenario_.networks; ++network) cut(network);
  const Nanoseconds length = random_.between(10 * kMillisecond, 2 * kSecond);
  bound_ = length + kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;  // each is tried
  for (unsigned side = 0; side != 2; ++side) {
    put(side, true);
    add(side);
  }
  wait(length);
  const auto first = static_cast<std::uint32_t>(random_.below(pairs_));
  for (unsigned side = 0; side != 2; ++side) {
    simulation_.network().mend({sides_[side].task, first, SimulatedNetwork::Direction::outgoing});
  }
  finish_all();
  simulation_.network().mend_all();
  bound_ = kSilence + tuning::kLongestRetransmitTimeout;
  work(kBackIn, 20 * kMillisecond);
  expect_all_serve("after all were silent");
}

// To the side that has more adapters those are left that have no pair, which end with the pairs' silence.
void PathTrial::pairs_go_silent() {
  const std::array adapters{scenario_.adapters[sides_[0].task], scenario_.adapters[sides_[1].task]};
  if (adapters[0] == adapters[1]) return;
  const PeerIndex task = sides_[adapters[0] < adapters[1] ? 1 : 0].task;
  using Direction = SimulatedNetwork::Direction;
  for (std::uint32_t network = 0; network != pairs_; ++network) {
    for (const Direction direction : {Direction::outgoing, Direction::incoming})
      simulation_.network().cut({task, network, direction});
  }
  bound_ = kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;  // each is tried
  work(kBackIn, 20 * kMillisecond);
  simulation_.network().mend_all();
  bound_ = kSilence + tuning::kLongestRetransmitTimeout;
  work(kBackIn, 20 * kMillisecond);
  expect_all_serve("after all pairs were silent");
  for (unsigned side = 0; side != 2; ++side) {
    for (const PathStatus& path : paths(side)) {
      if (path.end != sides_[1 - side].task) simulation_.checker().fail("a path does not lead home, which serves");
    }
  }
}

// ---- addresses ----

void PathTrial::move(unsigned side, std::uint32_t network) {
  simulation_.trace("task %u is elsewhere on network %u", sides_[side].task, network);
  simulation_.network().move(sides_[side].task, network);
}

void PathTrial::one_moves() {
  for (unsigned side = 0; side != 2 && !simulation_.checker().failed(); ++side) {
    work(kSamples * kStep, kStep);
    bound_ = kSilence;
    move(side, network_used_by(side));
    work(50 * kMillisecond, kMillisecond);
    expect_all_serve("after an adapter has moved");
  }
}

// Each learns over the other network where the other one is.
void PathTrial::both_move() {
  const auto first = static_cast<std::uint32_t>(random_.below(pairs_));
  bound_ = kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;
  for (unsigned side = 0; side != 2; ++side) move(side, (first + side) % pairs_);
  work(kBackIn, 20 * kMillisecond);
  expect_all_serve("after an adapter of each has moved");
}

// Nothing but what comes from there tells the other side. Meanwhile the other one has nothing to send, or sends in
// vain.
void PathTrial::all_of_one_move() {
  const auto side = static_cast<unsigned>(random_.below(2));
  bound_ = kBackIn + 2 * scenario_.networks * tuning::kLongestRetransmitTimeout;
  if (random_.chance(0.5)) wait(kBackIn);
  for (std::uint32_t network = 0; network != scenario_.adapters[sides_[side].task]; ++network) move(side, network);
  if (random_.chance(0.5)) wait(kBackIn);
  work(kBackIn, 20 * kMillisecond);
  expect_all_serve("after all adapters of a task have moved");
}

}  // namespace openlapi::simulation
