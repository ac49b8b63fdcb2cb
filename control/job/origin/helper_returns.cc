#include "control/job/origin/helper_returns.h"

#include <poll.h>
#include <sys/random.h>

#include <cerrno>
#include <memory>
#include <utility>

#include "control/base/sockets.h"
#include "control/daemon/messages/sealed_stream.h"
#include "control/job/messages/return_way.h"
#include "control/sealing/unproved_places.h"

namespace openlapi::jobs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kGreetingTime{10};
constexpr int kAcceptedAtOnce = 8;  // then those who are there have their turn
constexpr int kBacklog = 128;       // all helpers come at once; whoever finds it full tries again soon

}  // namespace

bool HelperReturns::open(std::uint32_t address) {
  sockaddr_in here = ipv4_address(address, 0);
  daemon::BootKey key{};
  if (getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) return false;
  listener_ = listen_on(here, kBacklog);
  if (!listener_.is_open()) return false;
  places_ = sealing::unproved_places();
  address_ = {address, ntohs(here.sin_port), MessageBytes(key.begin(), key.end())};
  return true;
}

void HelperReturns::watch(PollSet& poll_set, const Came& came) {
  drop_late();
  for (Arrival& arrival : arrivals_) {
    poll_set.add(arrival.connection.fd(), arrival.connection.events(),
                 [this, &arrival, &came] { serve(arrival, came); });
  }
  if (listener_.is_open() && !accept_again_) poll_set.add(listener_.get(), POLLIN, [this] { accept_some(); });
}

Deadline HelperReturns::deadline() const {
  Deadline next = accept_again_;
  for (const Arrival& arrival : arrivals_) next = earliest({next, arrival.until});
  return next;
}

void HelperReturns::drop_late() {
  const Clock::time_point now = Clock::now();
  if (accept_again_ && now >= *accept_again_) accept_again_.reset();
  std::erase_if(arrivals_, [now](const Arrival& arrival) { return arrival.over || now >= *arrival.until; });
}

// False: there is nobody who could go.
bool HelperReturns::make_place(std::uint32_t newcomer, std::size_t places) {
  const auto unproved_address = [](Arrival& arrival) {
    const bool other = arrival.over || arrival.connection.stream().is_trusted();
    return other ? std::optional<std::uint32_t>() : arrival.from;
  };
  return sealing::make_place(arrivals_, unproved_address, newcomer, places, [](Arrival& arrival) {
    arrival.over = true;
    arrival.connection.close();
  });
}

void HelperReturns::accept_some() {
  for (int n = 0; n < kAcceptedAtOnce; ++n) {
    sockaddr_in from{};
    FileDescriptor socket = accept_from(listener_.get(), from);
    const Clock::time_point now = Clock::now();
    if (!socket.is_open()) {
      if (sealing::is_shortage(errno) && !make_place(0, 1)) accept_again_ = now + sealing::kShortageTime;
      return;
    }
    make_place(ntohl(from.sin_addr.s_addr), places_);
    watch_silence(socket.get());
    arrivals_.push_back({return_way(std::move(socket), address_, daemon::SealedStream::Role::kAccepts),
                         ntohl(from.sin_addr.s_addr), now + kGreetingTime});
  }
}

void HelperReturns::serve(Arrival& arrival, const Came& came) {
  if (arrival.over) return;
  arrival.over = !arrival.connection.serve();
  const auto bytes = arrival.connection.stream().next();
  if (!bytes) return;
  arrival.over = true;
  const auto message = daemon::decode(*bytes);
  const auto* of_job = message ? std::get_if<daemon::JobMessage>(&*message) : nullptr;
  const auto body = of_job != nullptr ? decode_body(of_job->body) : std::nullopt;
  if (const auto* who = body ? std::get_if<Return>(&*body) : nullptr) came(*who, std::move(arrival.connection));
}

}  // namespace openlapi::jobs
