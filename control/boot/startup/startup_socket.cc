#include "control/boot/startup/startup_socket.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "control/base/deadline.h"
#include "control/base/sockets.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/sealing/unproved_places.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kProofTime{10};    // from connecting to the proof, however much is said meanwhile
constexpr std::chrono::seconds kMessageTime{60};  // from the proof to the end of the message
constexpr int kAcceptedAtOnce = 8;                // then those who are there have their turn
// A server whose queue strangers have filled hears a first try only when the kernel repeats it, after a second.
// The kernel does so more and more rarely: none of our tries is longer than it may take when there is room again.
constexpr std::chrono::milliseconds kFirstTry{25}, kLongestTry{800};
constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{160};

bool is_past(StartupTime deadline) { return std::chrono::steady_clock::now() >= deadline; }

// Takes what is there; false: the other side has closed, or the connection is broken.
bool fill(int socket, StartupExchange& exchange) {
  std::uint8_t bytes[16384];
  const ssize_t count = recv(socket, bytes, sizeof bytes, MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  exchange.take({bytes, static_cast<std::size_t>(count)});
  return count > 0;
}

const char* why_broken(const StartupExchange& exchange) {
  return exchange.is_proven() ? "sent what was changed on the way" : "has another key, or does not speak the protocol";
}

FileDescriptor connecting_socket(const sockaddr_in& to) {
  FileDescriptor socket = make_tcp_socket();
  if (!socket.is_open()) fail("socket", errno);
  if (!begin_to_connect(socket.get(), to)) fail(address_text(to) + " cannot be reached", errno);
  return socket;
}

// False: not by then.
bool await_connected(int socket, const sockaddr_in& to, StartupTime until) {
  pollfd wait{socket, POLLOUT, 0};
  while (poll(&wait, 1, milliseconds_until(until)) < 1) {
    if (is_past(until)) return false;
  }
  if (const int error = connect_error(socket)) fail(address_text(to) + " cannot be reached", error);
  return true;
}

FileDescriptor connect_by(const sockaddr_in& to, StartupTime deadline) {
  for (auto time = kFirstTry;; time = std::min(2 * time, kLongestTry)) {
    FileDescriptor socket = connecting_socket(to);
    const StartupTime until = std::min(deadline, std::chrono::steady_clock::now() + time);
    if (await_connected(socket.get(), to, until)) return socket;
    if (until == deadline) throw BootError(address_text(to) + " cannot be reached: it does not answer in time");
  }
}

// Until the exchange is over, or the connection.
void converse(int socket, const sockaddr_in& to, StartupExchange& exchange, StartupTime deadline) {
  bool alive = true;
  while (alive && exchange.state() == StartupExchange::State::kGoesOn) {
    if (is_past(deadline)) throw BootError(address_text(to) + " does not answer in time");
    alive = send_waiting(socket, exchange.outgoing());
    pollfd wait{socket, static_cast<short>(exchange.outgoing().empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&wait, 1, milliseconds_until(deadline));
    if (alive && (wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0) alive = fill(socket, exchange);
  }
}

}  // namespace

void keep_alive(int socket) {
  limit_silence(socket,
                {.seconds_before_asking = 10, .seconds_between = 5, .times = 4, .milliseconds_of_sending = 30'000});
}

StartupConnection send_startup_message(const sockaddr_in& to, const StartupKey& key, StartupKind kind,
                                       StartupTime deadline, sockaddr_in* local,
                                       const std::function<StartupBytes()>& payload) {
  std::optional<StartupBytes> message;
  for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    FileDescriptor socket = connect_by(to, deadline);
    socklen_t size = sizeof *local;
    if (local != nullptr) getsockname(socket.get(), reinterpret_cast<sockaddr*>(local), &size);
    if (!message) message = payload();
    StartupExchange exchange(key, kind, *message);
    converse(socket.get(), to, exchange, deadline);
    switch (exchange.state()) {
      case StartupExchange::State::kDone:
        return {std::move(socket), exchange.take_sealed()};
      case StartupExchange::State::kBroken:
        throw BootError(address_text(to) + " " + why_broken(exchange));
      case StartupExchange::State::kRefused:
        throw BootError(address_text(to) + " refused the message");
      default:  // its place was wanted by others
        if (is_past(deadline)) throw BootError(address_text(to) + " ended the connection before it had the message");
        poll(nullptr, 0, static_cast<int>(pause.count()));
    }
  }
}

StartupServer::StartupServer(in_addr_t address, int backlog, const StartupKey& key, StartupKind kind,
                             std::size_t longest_payload)
    : key_(key), kind_(kind), longest_payload_(longest_payload), places_(sealing::unproved_places()) {
  sockaddr_in here = ipv4_address(in_addr{address}, 0);
  listener_ = listen_on(here, backlog);
  if (!listener_.is_open()) fail("cannot listen on " + address_text(here), errno);
  port_ = ntohs(here.sin_port);
}

void StartupServer::drop(Client& client, const std::string& why) {
  count_dropped_connection(client.from, why);
  client.is_over = true;
}

// False: there is nobody who could go.
bool StartupServer::make_place(in_addr_t newcomer, std::size_t places) {
  const auto unproved_address = [](const Client& client) {
    return client.is_over || client.exchange.is_proven() ? std::optional<std::uint32_t>() : client.from.sin_addr.s_addr;
  };
  return sealing::make_place(clients_, unproved_address, newcomer, places, [&](Client& client) {
    drop(client, "others wanted its place, and it had not proved that it has the key");
    client.socket.reset();
  });
}

void StartupServer::accept_clients(const AllowAddress& allow) {
  for (int n = 0; n < kAcceptedAtOnce; ++n) {
    sockaddr_in from{};
    FileDescriptor socket = accept_from(listener_.get(), from);
    if (!socket.is_open()) {
      if (sealing::is_shortage(errno) && !make_place(0, 1))
        accept_again_ = std::chrono::steady_clock::now() + sealing::kShortageTime;
      return;
    }
    if (!allow(from)) {
      count_dropped_connection(from, "it is not in the node list");
      continue;
    }
    make_place(from.sin_addr.s_addr, places_);
    clients_.push_back({std::move(socket), from, StartupExchange(key_, kind_, longest_payload_),
                        std::chrono::steady_clock::now() + kProofTime});
  }
}

bool StartupServer::take_payload(Client& client, const TakePayload& take) {
  const bool good = take(client.from, client.exchange.payload());
  good ? client.exchange.accept() : client.exchange.refuse();
  send_waiting(client.socket.get(), client.exchange.outgoing());
  if (!good) {
    drop(client, "its message makes no sense here");
    return false;
  }
  last_ = {std::move(client.socket), client.exchange.take_sealed()};
  client.is_over = true;
  return true;
}

bool StartupServer::serve(Client& client, const TakePayload& take) {
  const bool was_proven = client.exchange.is_proven();
  const bool open = fill(client.socket.get(), client.exchange);
  if (client.exchange.is_proven() && !was_proven) client.deadline = std::chrono::steady_clock::now() + kMessageTime;
  if (client.exchange.state() == StartupExchange::State::kPayload) return take_payload(client, take);
  if (client.exchange.state() == StartupExchange::State::kBroken) {
    drop(client, std::string("it ") + why_broken(client.exchange));
  } else if (!open || !send_waiting(client.socket.get(), client.exchange.outgoing())) {
    drop(client, "it ended in the middle of its message");
  }
  return false;
}

bool StartupServer::receive(StartupTime deadline, const AllowAddress& allow, const TakePayload& take,
                            StartupInterruption* interruption) {
  while (true) {
    const bool accepts = is_past(accept_again_);
    std::vector<pollfd> watched{{listener_.get(), static_cast<short>(accepts ? POLLIN : 0), 0}};
    StartupTime next = accepts ? deadline : std::min(deadline, accept_again_);
    for (const Client& client : clients_) {
      watched.push_back({client.socket.get(), POLLIN, 0});
      next = std::min(next, client.deadline);
    }
    if (interruption != nullptr) interruption->watch(watched);
    if (poll(watched.data(), watched.size(), milliseconds_until(next)) < 0 && errno != EINTR) fail("poll", errno);
    bool taken = false;
    for (std::size_t n = 0; n < clients_.size() && !taken; ++n) {
      if (watched[n + 1].revents != 0) taken = serve(clients_[n], take);
      if (!clients_[n].is_over && is_past(clients_[n].deadline))
        drop(clients_[n], "it did not prove in time that it has the key");
    }
    std::erase_if(clients_, [](const Client& client) { return client.is_over; });
    if (taken) return true;
    if (is_past(deadline) || (interruption != nullptr && interruption->is_over())) return false;
    if (watched[0].revents != 0) accept_clients(allow);
  }
}

}  // namespace openlapi::boot
