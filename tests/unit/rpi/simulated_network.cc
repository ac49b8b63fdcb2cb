#include "tests/unit/rpi/simulated_network.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "api/rpi/lapi/envelope.h"

namespace openlapi::rpi {
namespace {

void tell(const WhenDone& when, Outcome outcome) {
  if (when.function != nullptr) when.function(when.argument, outcome);
}

void copy(const Flight& flight) {
  if (flight.to != nullptr && flight.length > 0) std::memcpy(flight.to, flight.from, flight.length);
}

}  // namespace

void SimulatedNetwork::bury(Peer process) {
  dead_[process] = true;
  // Messages to it stay: their senders are told that they were not taken.
  std::erase_if(events_, [&](const Event& event) {
    return event.owner == process && event.kind != Event::Kind::begins && event.kind != Event::Kind::completes;
  });
}

void SimulatedNetwork::end(Peer process) { bury(process); }

void SimulatedNetwork::kill(Peer process) {
  if (dead_[process]) return;
  bury(process);
  for (Peer other = 0; other < dead_.size(); ++other) {
    if (!dead_[other]) add({Event::Kind::lost, other, process});
  }
}

std::size_t SimulatedNetwork::of(Peer process) const {
  return static_cast<std::size_t>(std::ranges::count(events_, process, &Event::owner));
}

// A random one of those of the process. False: there is none.
bool SimulatedNetwork::happen(Peer process, SimulatedWorld& world) {
  const std::size_t count = of(process);
  if (count == 0) return false;
  std::size_t which = random_() % count;
  const auto chosen =
      std::ranges::find_if(events_, [&](const Event& event) { return event.owner == process && which-- == 0; });
  const Event event = *chosen;
  events_.erase(chosen);
  switch (event.kind) {
    case Event::Kind::begins:
      world.begin(event);
      break;
    case Event::Kind::completes:
      copy(*event.flight);
      add({Event::Kind::sent, event.peer, process, event.flight});
      tell(event.flight->when_here, Outcome::done);
      break;
    case Event::Kind::sent:
      tell(event.flight->when_sent, Outcome::done);
      break;
    case Event::Kind::get:
      copy(*event.flight);
      tell(event.flight->when_here, Outcome::done);
      break;
    case Event::Kind::lost:
      lose(process, event.peer, world);
      break;
  }
  return true;
}

void SimulatedNetwork::lose(Peer process, Peer dead, SimulatedWorld& world) {
  lost_[process][dead] = true;
  const bool told_first = random_() % 2 == 0;
  if (told_first) world.listener_.lost(dead, "killed");
  std::vector<Event> ended;
  for (const Event& event : events_) {
    if (event.owner == process && event.peer == dead) ended.push_back(event);
    // What it was sent has not been taken.
    if (event.owner == dead && event.peer == process) ended.push_back(event);
  }
  std::erase_if(events_, [&](const Event& event) {
    return (event.owner == process && event.peer == dead) || (event.owner == dead && event.peer == process);
  });
  for (const Event& event : ended) {
    if (event.owner == dead || event.kind == Event::Kind::sent)
      tell(event.flight->when_sent, Outcome::peer_lost);
    else if (event.kind != Event::Kind::begins)
      tell(event.flight->when_here, Outcome::peer_lost);
  }
  if (!told_first) world.listener_.lost(dead, "killed");
}

void SimulatedWorld::begin(const Event& event) {
  const Flight& flight = *event.flight;
  if (flight.number >= 0 && network_.on_arrival) network_.on_arrival(self_, flight.number);
  const Landing landing = listener_.arriving({event.peer, flight.header, flight.length});
  if (landing.again) return network_.add(event);
  event.flight->to = static_cast<std::byte*>(landing.buffer);
  event.flight->when_here = landing.when_done;
  network_.add({Event::Kind::completes, self_, event.peer, event.flight});
}

void SimulatedWorld::send_message(Peer peer, std::span<const std::byte> header, std::span<const std::byte> data,
                                  WhenDone when_sent) {
  auto flight = std::make_shared<Flight>();
  flight->header.assign(header.begin(), header.end());
  flight->from = data.data();
  flight->length = data.size();
  flight->when_sent = when_sent;
  const auto envelope = decode_envelope(header);
  if (!envelope || !envelope->is_answer()) flight->number = std::exchange(network_.announced_, -1);
  if (network_.lost_[self_][peer]) return tell(when_sent, Outcome::peer_lost);
  if (peer != self_) return network_.add({Event::Kind::begins, peer, self_, flight});
  if (flight->number >= 0 && network_.on_arrival) network_.on_arrival(self_, flight->number);
  const Landing landing = listener_.arriving({peer, flight->header, flight->length});
  flight->to = static_cast<std::byte*>(landing.buffer);
  copy(*flight);
  tell(landing.when_done, Outcome::done);
  tell(when_sent, Outcome::done);
}

void SimulatedWorld::get(Peer peer, std::uint64_t remote, std::span<std::byte> local, WhenDone when_here) {
  auto flight = std::make_shared<Flight>();
  flight->from = reinterpret_cast<const std::byte*>(remote);
  flight->to = local.data();
  flight->length = local.size();
  flight->when_here = when_here;
  if (network_.lost_[self_][peer]) return tell(when_here, Outcome::peer_lost);
  if (network_.random_() % 4 != 0 && peer != self_) return network_.add({Event::Kind::get, self_, peer, flight});
  copy(*flight);
  tell(when_here, Outcome::done);
}

void SimulatedWorld::has_left(Peer peer) {
  network_.left_[self_][peer] = true;
  network_.add({Event::Kind::lost, self_, peer});
}

bool SimulatedWorld::some_happen(std::size_t steps) {
  bool moved = false;
  for (; steps > 0; --steps) moved = network_.happen(self_, *this) || moved;
  return moved;
}

void SimulatedWorld::move_outside() {
  listener_.outside(true);
  some_happen(network_.random_() % 4);
  listener_.outside(false);
}

bool SimulatedWorld::progress(bool block) {
  if (block && network_.patience >= 0 && network_.patience-- == 0)
    throw std::runtime_error("a process sleeps for ever");
  if (block && network_.of(self_) == 0 && network_.while_asleep) network_.while_asleep(self_);
  if (block && network_.with_threads) move_outside();
  return some_happen(network_.random_() % 4 + (block ? 1 : 0));
}

// What it has sent is on its way no more.
bool SimulatedWorld::drained() {
  return std::ranges::none_of(network_.events_, [&](const Event& event) {
    const bool from_here = event.peer == self_ && !network_.lost_[self_][event.owner];
    return (from_here && (event.kind == Event::Kind::begins || event.kind == Event::Kind::completes)) ||
           (event.owner == self_ && event.kind == Event::Kind::sent);
  });
}

}  // namespace openlapi::rpi
