#include "control/client/liveness.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

#include "control/base/sockets.h"
#include "dataplane/base/byte_codec.h"

namespace openlapi {

namespace {

constexpr std::size_t kMostAddresses = 8;  // of a machine
constexpr std::size_t kMostOthers = 64;    // connections of others that are kept
constexpr std::size_t kMostProofs = 64, kMostOpen = 64;
constexpr std::size_t kMostTurns = 32;  // connections that are closed in one look for others to be made
// In one look, which is inside somebody's call. Where all take turns about kMostTurns come from one look to the next.
constexpr int kMostAccepts = 48;
constexpr unsigned kMostLooks = 4;  // that an answer may take
constexpr int kBacklog = 4096;

bool is_same(in_addr left, in_addr right) { return left.s_addr == right.s_addr; }

bool has(std::span<const in_addr> addresses, in_addr address) {
  return std::ranges::any_of(addresses, [&](in_addr each) { return is_same(each, address); });
}

// A host that answers no more closes the connection some seconds later, and closing it here leaves nothing behind.
void prepare(int fd) {
  limit_silence(fd, kUniverseSilence);
  const linger none{1, 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
}

short events_of(int fd) {
  pollfd one{fd, POLLIN | POLLOUT | POLLRDHUP, 0};
  return poll(&one, 1, 0) == 1 ? one.revents : short{0};
}

constexpr short kEnd = POLLIN | POLLRDHUP | POLLHUP | POLLERR;

}  // namespace

std::vector<in_addr> own_addresses() {
  ifaddrs* first = nullptr;
  if (getifaddrs(&first) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, &freeifaddrs);
  std::vector<in_addr> addresses;
  for (const ifaddrs* each = first; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_UP) == 0 || (each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    sockaddr_in place{};
    std::memcpy(&place, each->ifa_addr, sizeof place);
    addresses.push_back(place.sin_addr);
  }
  return addresses;
}

// ---- The own port ----

LivenessPort::LivenessPort() {
  sockaddr_in here = ipv4_address(INADDR_ANY, 0);
  listener_ = listen_on(here, kBacklog);
  sockaddr_in beside = ipv4_address(INADDR_ANY, 0);
  refusing_ = bind_to(beside);
  if (!listener_.is_open() || !refusing_.is_open()) return;
  port_ = ntohs(here.sin_port);
  refusing_port_ = ntohs(beside.sin_port);
}

std::vector<std::byte> LivenessPort::told(std::span<const in_addr> addresses) const {
  std::vector<std::byte> bytes;
  append_little(bytes, port_);
  append_little(bytes, refusing_port_);
  for (const in_addr address : addresses.first(std::min(addresses.size(), kMostAddresses))) {
    append_little(bytes, static_cast<std::uint32_t>(ntohl(address.s_addr)));
  }
  return bytes;
}

void LivenessPort::look() {
  std::erase_if(others_, [](const FileDescriptor& other) { return (events_of(other.get()) & kEnd) != 0; });
  for (int n = 0; n < kMostAccepts; ++n) {
    sockaddr_in from{};
    FileDescriptor other = accept_from(listener_.get(), from);
    if (!other.is_open()) return;
    prepare(other.get());
    if (others_.size() == kMostOthers) others_.pop_front();
    others_.push_back(std::move(other));
  }
}

// ---- The others' ports ----

void LivenessWatch::add(std::span<const std::byte> told) {
  Process process;
  ByteReader reader(told);
  process.port = reader.little<std::uint16_t>();
  process.refusing_port = reader.little<std::uint16_t>();
  while (!reader.failed() && reader.left() != 0 && process.addresses.size() < kMostAddresses) {
    const in_addr address{htonl(reader.number())};
    if (!reader.failed() && !has(own_, address)) process.addresses.push_back(address);
  }
  if (process.port == 0 || process.refusing_port == 0) process.addresses.clear();
  processes_.push_back(std::move(process));
}

// As many as may be tried at a time: the others follow when they are wanted.
void LivenessWatch::begin() {
  for (std::size_t n = 0; n < processes_.size() && proofs_.size() < kMostProofs; ++n) prove(n);
}

void LivenessWatch::want(std::size_t process, bool is_wanted) {
  processes_[process].is_wanted = is_wanted;
  if (is_wanted) return;
  processes_[process].refusals = 0;
  note_answer(processes_[process]);
}

bool LivenessWatch::is_silent(std::size_t process, unsigned looks) const {
  const Process& one = processes_[process];
  return !one.reached.empty() && one.addresses_unanswered >= one.reached.size() && one.looks_unanswered >= looks;
}

void LivenessWatch::note_answer(Process& process) { process.looks_unanswered = process.addresses_unanswered = 0; }

void LivenessWatch::note(Process& process, Seen seen) {
  if (process.asks_host) return note_of_host(process, seen);
  if (process.connection.is_open) process.refusals = 0;
  if (seen == Seen::is_open || seen == Seen::refused) note_answer(process);
  if (seen == Seen::refused) ++process.refusals;
  if (seen != Seen::failed && seen != Seen::unanswered) return;
  process.refusals = 0;
  if (seen == Seen::unanswered) process.asks_host = true;
  if (seen == Seen::failed) ++process.next_address;
}

// Whatever the answer is: the host lives, and nothing is said of the process.
void LivenessWatch::note_of_host(Process& process, Seen seen) {
  if (seen == Seen::nothing) return;
  if (seen == Seen::unanswered) ++process.addresses_unanswered;
  if (seen != Seen::failed && seen != Seen::unanswered) note_answer(process);
  process.asks_host = false;
  ++process.next_address;
}

void LivenessWatch::prove(std::size_t number) {
  Process& process = processes_[number];
  for (const in_addr address : process.addresses) {
    Proof proof{.process = number};
    const Seen seen = connect_to(address, process.port, proof.connection);
    process.was_tried = process.was_tried || seen != Seen::failed;
    if (seen == Seen::nothing) proofs_.push_back(std::move(proof));
  }
}

LivenessWatch::Seen LivenessWatch::connect_to(in_addr address, std::uint16_t port, Connection& connection) {
  connection = {.address = address, .fd = make_tcp_socket()};
  if (!connection.fd.is_open()) return Seen::failed;
  prepare(connection.fd.get());
  if (begin_to_connect(connection.fd.get(), ipv4_address(address, port))) return Seen::nothing;
  const Seen seen = seen_by(errno);
  connection.fd.reset();
  return seen;
}

LivenessWatch::Seen LivenessWatch::seen_by(int error) {
  if (error == ECONNREFUSED) return Seen::refused;
  const bool is_silence = error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN;
  return is_silence ? Seen::unanswered : Seen::failed;
}

// One that was open and has ended since is told as closed.
LivenessWatch::Seen LivenessWatch::look_at(Connection& connection) {
  const short events = events_of(connection.fd.get());
  if (!connection.is_open) {
    if (events == 0) return ++connection.looks > kMostLooks ? Seen::unanswered : Seen::nothing;
    const int error = connect_error(connection.fd.get());
    if (error != 0 && error != ECONNRESET && error != EPIPE) return seen_by(error);
    connection.is_open = true;
    if (error != 0) return Seen::closed;
  }
  return (events & kEnd) != 0 ? Seen::closed : Seen::is_open;
}

void LivenessWatch::look() {
  look_at_proofs();
  for (std::size_t n = 0; n < processes_.size(); ++n) look_at((first_ + n) % processes_.size());
  take_turns();
}

// False: it is still to come.
bool LivenessWatch::take(Proof& proof) {
  const Seen seen = look_at(proof.connection);
  const bool is_accepted = seen == Seen::is_open || seen == Seen::closed;
  if (is_accepted) processes_[proof.process].reached.push_back(proof.connection.address);
  return seen != Seen::nothing;
}

void LivenessWatch::look_at_proofs() {
  std::erase_if(proofs_, [this](Proof& proof) { return take(proof); });
}

// These are no looks, of which a proof has only some.
void LivenessWatch::await_reached(std::chrono::milliseconds longest) {
  using Clock = std::chrono::steady_clock;
  const auto is_awaited = [this](const Proof& proof) { return processes_[proof.process].reached.empty(); };
  for (const auto end = Clock::now() + longest; std::ranges::any_of(proofs_, is_awaited);) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) return;
    std::vector<pollfd> answers;
    for (const Proof& proof : proofs_) answers.push_back({proof.connection.fd.get(), POLLOUT, 0});
    poll(answers.data(), answers.size(), static_cast<int>(left.count()));
    std::erase_if(proofs_, [this](Proof& proof) { return events_of(proof.connection.fd.get()) != 0 && take(proof); });
  }
}

void LivenessWatch::close(Process& process) {
  if (process.connection.fd.is_open()) --open_;
  process.connection.fd.reset();
}

void LivenessWatch::look_at(std::size_t number) {
  Process& process = processes_[number];
  if (!process.is_wanted || has_ended(number)) return close(process);
  if (process.connection.fd.is_open()) {
    const bool is_to_host = process.asks_host;
    const Seen seen = look_at(process.connection);
    note(process, seen);
    if (seen == Seen::nothing || (is_to_host && seen == Seen::unanswered)) ++process.looks_unanswered;
    if (seen == Seen::nothing || (seen == Seen::is_open && !is_to_host)) return;
    close(process);
    if (is_to_host) return;  // others get its place: processes whose ports do not answer would keep all of them
  }
  const std::vector<in_addr>& reached = process.reached;
  if (reached.empty() && !process.was_tried && proofs_.size() < kMostProofs) return prove(number);
  if (reached.empty() || open_ >= kMostOpen || has_ended(number)) return;
  const in_addr address = reached[process.next_address % reached.size()];
  const std::uint16_t port = process.asks_host ? process.refusing_port : process.port;
  const Seen seen = connect_to(address, port, process.connection);
  if (process.connection.fd.is_open()) ++open_;
  note(process, seen);
  if (seen == Seen::nothing || seen == Seen::unanswered) ++process.looks_unanswered;
}

// Where more are wanted than connections are allowed, those that have one let others have it.
void LivenessWatch::take_turns() {
  if (open_ < kMostOpen) return;
  for (std::size_t n = 0; n < processes_.size() && open_ > kMostOpen - kMostTurns; ++n) {
    first_ = (first_ + 1) % processes_.size();
    Process& process = processes_[first_];
    if (!process.connection.is_open || !process.connection.fd.is_open()) continue;
    process.connection.fd.reset();
    --open_;
  }
}

}  // namespace openlapi
