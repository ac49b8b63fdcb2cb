#include "control/boot/startup_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "control/boot/boot_error.h"
#include "control/boot/remaining_time.h"

namespace openlapi::boot {
namespace {

constexpr std::chrono::seconds kClientTime{10};  // from connecting to the end of the message
constexpr std::size_t kMostClients = 1024;       // half way; more would be an attack

bool is_past(StartupTime deadline) { return std::chrono::steady_clock::now() >= deadline; }

// Sends what goes; false: the connection is broken.
bool flush(int socket, StartupBytes& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    bytes.erase(bytes.begin(), bytes.begin() + sent);
  }
  return true;
}

// Takes what is there; false: the other side has closed, or the connection is broken.
bool fill(int socket, StartupExchange& exchange) {
  std::uint8_t bytes[16384];
  const ssize_t count = recv(socket, bytes, std::min(sizeof bytes, exchange.wanted()), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  exchange.take({bytes, static_cast<std::size_t>(count)});
  return count > 0;
}

FileDescriptor connect_by(const sockaddr_in& to, StartupTime deadline) {
  FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.is_open()) fail("socket", errno);
  if (connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return socket;
  if (errno != EINPROGRESS) fail(address_text(to) + " cannot be reached", errno);
  pollfd wait{socket.get(), POLLOUT, 0};
  while (poll(&wait, 1, milliseconds_until(deadline)) < 1) {
    if (is_past(deadline)) throw BootError(address_text(to) + " cannot be reached: it does not answer in time");
  }
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) fail(address_text(to) + " cannot be reached", error);
  return socket;
}

}  // namespace

void keep_alive(int socket) {
  const auto set = [&](int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

std::string address_text(const sockaddr_in& address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address.sin_addr, text, sizeof text);
  return std::string(text) + ":" + std::to_string(ntohs(address.sin_port));
}

StartupConnection send_startup_message(const sockaddr_in& to, const StartupKey& key, StartupKind kind,
                                       StartupTime deadline, sockaddr_in* local,
                                       const std::function<StartupBytes()>& payload) {
  FileDescriptor socket = connect_by(to, deadline);
  socklen_t size = sizeof *local;
  if (local != nullptr) getsockname(socket.get(), reinterpret_cast<sockaddr*>(local), &size);
  StartupExchange exchange(key, kind, payload());
  bool alive = true;
  while (alive && exchange.state() == StartupExchange::State::kGoesOn) {
    if (is_past(deadline)) throw BootError(address_text(to) + " does not answer in time");
    alive = flush(socket.get(), exchange.outgoing());
    pollfd wait{socket.get(), static_cast<short>(exchange.outgoing().empty() ? POLLIN : POLLIN | POLLOUT), 0};
    poll(&wait, 1, milliseconds_until(deadline));
    if (alive && (wait.revents & (POLLIN | POLLHUP | POLLERR)) != 0) alive = fill(socket.get(), exchange);
  }
  if (exchange.state() == StartupExchange::State::kRefused) throw BootError(address_text(to) + " has another key");
  if (exchange.state() != StartupExchange::State::kDone) throw BootError(address_text(to) + " refused the message");
  return {std::move(socket), exchange.session_key()};
}

StartupServer::StartupServer(in_addr_t address, int backlog, const StartupKey& key, StartupKind kind,
                             std::size_t longest_payload)
    : key_(key), kind_(kind), longest_payload_(longest_payload) {
  listener_.reset(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener_.is_open()) fail("socket", errno);
  sockaddr_in here{};
  here.sin_family = AF_INET;
  here.sin_addr.s_addr = address;
  socklen_t size = sizeof here;
  if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&here), sizeof here) != 0 ||
      listen(listener_.get(), backlog) != 0 ||
      getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&here), &size) != 0) {
    fail("cannot listen on " + address_text(here), errno);
  }
  port_ = ntohs(here.sin_port);
}

void StartupServer::report(const sockaddr_in& from, const char* why) {
  if (reported_.insert(from.sin_addr.s_addr).second) {
    print_error("a connection from " + address_text(from) + " to the startup protocol was dropped: " + why);
  }
}

void StartupServer::drop(Client& client, const char* why) {
  report(client.from, why);
  client.is_over = true;
}

void StartupServer::accept_clients(const AllowAddress& allow) {
  while (clients_.size() < kMostClients) {
    sockaddr_in from{};
    socklen_t size = sizeof from;
    FileDescriptor socket(
        accept4(listener_.get(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (!allow(from)) {
      report(from, "it is not in the node list");
      continue;
    }
    clients_.push_back({std::move(socket), from, StartupExchange(key_, kind_, longest_payload_),
                        std::chrono::steady_clock::now() + kClientTime});
  }
}

bool StartupServer::serve(Client& client, const TakePayload& take) {
  const bool open = fill(client.socket.get(), client.exchange);
  if (client.exchange.state() == StartupExchange::State::kPayload) {
    if (!take(client.from, client.exchange.payload())) {
      drop(client, "its message makes no sense here");
      return false;
    }
    client.exchange.accept();
    flush(client.socket.get(), client.exchange.outgoing());
    last_ = {std::move(client.socket), client.exchange.session_key()};
    client.is_over = true;
    return true;
  }
  if (client.exchange.state() == StartupExchange::State::kRefused) {
    drop(client, "it has another key, or does not speak the protocol");
  } else if (!open || !flush(client.socket.get(), client.exchange.outgoing())) {
    drop(client, "it ended in the middle of its message");
  }
  return false;
}

bool StartupServer::receive(StartupTime deadline, const AllowAddress& allow, const TakePayload& take,
                            StartupInterruption* interruption) {
  while (true) {
    std::vector<pollfd> watched{{listener_.get(), POLLIN, 0}};
    StartupTime next = deadline;
    for (const Client& client : clients_) {
      watched.push_back({client.socket.get(), POLLIN, 0});
      next = std::min(next, client.deadline);
    }
    if (interruption != nullptr) interruption->watch(watched);
    if (poll(watched.data(), watched.size(), milliseconds_until(next)) < 0 && errno != EINTR) fail("poll", errno);
    bool taken = false;
    for (std::size_t n = 0; n < clients_.size() && !taken; ++n) {
      if (watched[n + 1].revents != 0) taken = serve(clients_[n], take);
      if (!clients_[n].is_over && is_past(clients_[n].deadline)) drop(clients_[n], "it was silent");
    }
    std::erase_if(clients_, [](const Client& client) { return client.is_over; });
    if (taken) return true;
    if (is_past(deadline) || (interruption != nullptr && interruption->is_over())) return false;
    if (watched[0].revents != 0) accept_clients(allow);
  }
}

}  // namespace openlapi::boot
