#include "api/rpi/lapi/joined_worlds.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <utility>

#include "api/rpi/lapi/envelope.h"
#include "api/wiring/mistyped_variables.h"
#include "dataplane/base/cpu_pause.h"
#include "dataplane/base/monotonic_clock.h"

namespace openlapi::rpi {

namespace {

constexpr Nanoseconds kMostDraining = 5 * kSecond;
// What a thread does that waits for several parts: no sleep ends with what comes in another part.
constexpr unsigned kPauses = 200, kYields = 2000;
constexpr timespec kNap{0, 50'000};

void wait_a_little(unsigned fruitless) {
  if (fruitless < kPauses) return cpu_pause();
  if (fruitless < kPauses + kYields) {
    sched_yield();
  } else {
    nanosleep(&kNap, nullptr);
  }
}

}  // namespace

Landing JoinedWorlds::Part::arriving(const IncomingMessage& message) {
  const Peer from = numbers[message.from];
  if (from == kNobody) {  // removed, or it reaches this process in another part
    const auto envelope = decode_envelope(message.header);
    if (envelope && envelope->kind == EnvelopeKind::leaves) world->has_left(message.from);
    return {};
  }
  return listener.arriving({from, message.header, message.length});
}

void JoinedWorlds::Part::lost(Peer peer, const char* reason) {
  if (numbers[peer] != kNobody) listener.lost(numbers[peer], reason);
}

bool JoinedWorlds::add(std::shared_ptr<Bootstrap> bootstrap, std::span<const Member> members, std::string& reason) {
  auto part = std::make_unique<Part>(listener_);
  part->job.bootstrap = std::move(bootstrap);
  part->job.has_launcher = true;
  part->job.unknown_variables = look_at_variables(parts_.empty() && part->job.bootstrap->rank() == 0);
  std::vector<WorldProcess> processes;
  std::vector<Route> routes = routes_;
  for (Peer there = 0; there < members.size(); ++there) {
    processes.push_back(members[there].process);
    part->numbers.push_back(members[there].is_new ? static_cast<Peer>(routes.size()) : kNobody);
    if (!members[there].is_new) continue;
    ++part->users;
    routes.push_back({part.get(), there});
  }
  part->world = open_endpoint_world(part->job, processes, *part, reason);
  if (part->world == nullptr) return false;
  if (parts_.empty()) self_ = part->numbers[part->world->self()];
  routes_ = std::move(routes);
  parts_.push_back(std::move(part));
  return true;
}

void JoinedWorlds::remove(Peer peer) {
  Part* const part = std::exchange(routes_[peer].part, nullptr);
  if (part == nullptr) return;
  part->numbers[routes_[peer].there] = kNobody;
  if (--part->users != 0 || part == parts_.front().get()) return;
  drain();
  std::erase_if(parts_, [part](const std::unique_ptr<Part>& each) { return each.get() == part; });
}

void JoinedWorlds::send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                                WhenDone when_sent) {
  const Route& route = routes_[peer];
  if (route.part != nullptr) return route.part->world->send_message(route.there, header, data, when_sent);
  if (when_sent.function != nullptr) when_sent.function(when_sent.argument, Outcome::peer_lost);
}

void JoinedWorlds::get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) {
  const Route& route = routes_[peer];
  if (route.part != nullptr) return route.part->world->get(route.there, remote, local, when_here);
  if (when_here.function != nullptr) when_here.function(when_here.argument, Outcome::peer_lost);
}

bool JoinedWorlds::step() {
  bool moved = false;
  for (const std::unique_ptr<Part>& part : parts_) moved = part->world->progress(false) || moved;
  return moved;
}

bool JoinedWorlds::progress(bool block) {
  if (!block) return step();
  if (parts_.size() == 1) return parts_.front()->world->progress(true);
  for (unsigned fruitless = 0; !step(); ++fruitless) {
    if (interrupted_.exchange(false, std::memory_order_relaxed)) return false;
    wait_a_little(fruitless);
  }
  return true;
}

void JoinedWorlds::interrupt() {
  interrupted_.store(true, std::memory_order_relaxed);
  for (const std::unique_ptr<Part>& part : parts_) part->world->interrupt();
}

void JoinedWorlds::has_left(Peer peer) {
  const Route& route = routes_[peer];
  if (route.part != nullptr) route.part->world->has_left(route.there);
}

bool JoinedWorlds::drained() {
  return std::ranges::all_of(parts_, [](const std::unique_ptr<Part>& part) { return part->world->drained(); });
}

void JoinedWorlds::drain() {
  MonotonicClock clock;
  const Nanoseconds until = clock.now() + kMostDraining;
  for (unsigned fruitless = 0; !drained() && clock.now() < until; ++fruitless) {
    if (step()) fruitless = 0;
    wait_a_little(fruitless);
  }
}

}  // namespace openlapi::rpi
