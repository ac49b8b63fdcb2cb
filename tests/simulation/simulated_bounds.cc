// A simulated task and one who lies: what the task makes of that one's messages, what it begins towards it, and that
// neither ever takes more of its memory than the engine allows.
#include <algorithm>

#include "dataplane/layout/vector_cursor.h"
#include "tests/simulation/simulated_engine.h"
#include "tests/simulation/simulation.h"

namespace openlapi::simulation {

namespace {

char liars_handler_tag;

constexpr std::uint64_t kFewestBytesOfAMessage = 300;
// Without its lists: its headers, and what describes its data.
constexpr std::uint64_t kLongestMessage = 64 * 1024 + tuning::kLongestDescriptions;
constexpr std::uint32_t kMostBaits = 10'000;  // more than the engine takes of any kind without an end

}  // namespace

void SimulatedEngine::check_bounds() {
  for (PeerIndex peer = 0; peer < scenario_.all_tasks(); ++peer) check_bounds_towards(peer);
}

void SimulatedEngine::check_bounds_towards(PeerIndex peer) {
  const PeerLoad load = endpoint_->load(peer);
  const auto check = [&](std::uint64_t value, std::uint64_t most, const char* what) {
    if (value <= most) return;
    checker_.fail("task %u context %u has %llu %s of task %u; at most %llu", task_, context_,
                  static_cast<unsigned long long>(value), what, peer, static_cast<unsigned long long>(most));
  };
  check(load.requests, tuning::kMostRequestsPerPeer + replies_inline_, "requests");
  check(load.owed_counters, tuning::kMostOwedCounters + replies_inline_, "counters owed");
  check(load.copies, scenario_.copy_buffers + replies_inline_, "copies");
  // The last one that fits may be of any length, and so may what an inline handler begins, up to a bound of its own.
  const std::uint64_t longest = kLongestMessage + longest_lists_;
  const std::uint64_t with_replies = tuning::kMostKeptBytes + replies_inline_ * longest;
  check(load.kept_bytes, std::min(with_replies, tuning::kMostKeptBytesOfHandlers) + longest, "bytes kept for messages");
  check(load.things, tuning::kMostThingsOfPeer, "things that were caused by messages");
  check(load.bytes, tuning::kMostBytesOfPeer, "bytes that were caused by messages");
  check(load.early_rounds, tuning::kMostEarlyRounds, "early rounds");
  // Each of these leaves at most one record behind, and so do fences and rounds of collectives.
  const std::uint64_t long_messages = load.kept_bytes / kFewestBytesOfAMessage;
  const std::uint64_t others = 100 + fences_.size() + replies_inline_;
  check(load.backlog, load.requests + load.copies + load.things + long_messages + others, "records that wait");
}

// Some of the task's memory is lent for each; who lies may never give it back.
void SimulatedEngine::bait_the_liar() {
  if (baits_ >= kMostBaits || simulation_.finishing() || !random_.chance(0.2)) return;
  const bool eager = task_ == scenario_.options.seed % scenario_.options.tasks;
  for (std::uint64_t n = eager ? 200 : 2; n != 0; --n) {
    if (bait() != Submit::accepted) return;
    ++baits_;
  }
}

Submit SimulatedEngine::bait() {
  const PeerIndex liar = scenario_.liar();
  LieArena& arena = simulation_.arena(task_);
  const std::size_t length = random_.chance(0.01) ? 3000 + random_.below(60'000) : random_.below(64);
  const std::uint64_t there = simulation_.liars_memory(length);
  // The eager one sticks to one kind, so as to come to the end of what it may.
  const std::uint64_t draw = random_.chance(0.9) ? mix_bits(scenario_.options.seed) : random_.next();
  std::byte* const here = arena.own(length + 8).data();
  const auto counters = reinterpret_cast<std::uintptr_t>(arena.own(16).data());
  switch (draw % 4) {
    case 0:
      return endpoint_->put({liar, there, here, length, 0, counters, counters + 8});
    case 1:
      return endpoint_->get({liar, there, here, length, 0, counters});
    case 2:
      return endpoint_->read_modify_write({liar, wire::RmwOperation::fetch_and_add, 8, there, 1, 0, here, counters});
    default:
      return endpoint_->active_message({liar, 1, nullptr, 0, here, length, 0, counters, counters + 8});
  }
}

HeaderVerdict SimulatedEngine::hear_the_liar(const ArrivedMessage& message) {
  HeaderVerdict verdict;
  // Of a flood of messages that are dropped none is ever taken.
  const bool refused = message.handler % 4 == 0 || (message.handler % 4 == 1 && random_.chance(0.8));
  const bool dropped = refused && !simulation_.lies_are_over(context_);
  std::byte* const buffer = dropped ? nullptr : simulation_.arena(task_).buffer_of(message.length);
  verdict.delivery = dropped ? Delivery::drop : buffer == nullptr ? Delivery::bury : Delivery::deliver;
  if (message.vector && buffer != nullptr) {
    verdict.layout = std::make_unique<StridedCursor>(reinterpret_cast<std::uintptr_t>(buffer), message.length);
  } else {
    verdict.buffer = buffer;
  }
  verdict.style = static_cast<CompletionStyle>(random_.below(3));
  if (random_.chance(0.5)) verdict.completion_handler = &liars_handler_tag;
  return verdict;
}

bool SimulatedEngine::run_liars_handler(const CompletionRun& run, bool now) {
  if (run.handler != &liars_handler_tag) checker_.fail("task %u was asked to run a handler that is none", task_);
  if (now || random_.chance(0.5)) return true;
  return_from_liars_handler(run, kMillisecond);
  return false;
}

void SimulatedEngine::return_from_liars_handler(const CompletionRun& run, Nanoseconds longest) {
  time_.after(random_.between(500, longest), [this, alive = alive_, run] {
    if (!*alive) return;
    if (time_.now() < stopped_until_)
      return return_from_liars_handler(run, stopped_until_ - time_.now() + kMillisecond);
    endpoint_->completion_returned(run);
  });
}

}  // namespace openlapi::simulation
