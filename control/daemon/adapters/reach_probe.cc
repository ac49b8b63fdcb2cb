#include "control/daemon/adapters/reach_probe.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace openlapi::daemon {
namespace {

constexpr std::uint16_t kDiscardPort = 9;

struct SocketAddress {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

SocketAddress socket_address(const MessageBytes& address, std::uint16_t port) {
  SocketAddress result;
  if (address.size() == 4) {
    sockaddr_in ipv4{};
    ipv4.sin_family = AF_INET;
    ipv4.sin_port = htons(port);
    std::memcpy(&ipv4.sin_addr, address.data(), sizeof ipv4.sin_addr);
    std::memcpy(&result.bytes, &ipv4, result.size = sizeof ipv4);
  } else {
    sockaddr_in6 ipv6{};
    ipv6.sin6_family = AF_INET6;
    ipv6.sin6_port = htons(port);
    std::memcpy(&ipv6.sin6_addr, address.data(), std::min(address.size(), sizeof ipv6.sin6_addr));
    std::memcpy(&result.bytes, &ipv6, result.size = sizeof ipv6);
  }
  return result;
}

bool is_answer(int error) { return error == 0 || error == ECONNREFUSED; }

}  // namespace

ReachProbe::ReachProbe(const std::string& interface, const MessageBytes& from, const std::vector<MessageBytes>& to,
                       Time now)
    : interface_(interface), from_(from), again_(now + kReachProbeAgain), until_(now + kReachProbeTime) {
  for (const MessageBytes& address : to) {
    if (asked_.size() == kMostAsked) break;
    if (ask(address)) asked_.push_back(address);
  }
  answered_ = answered_ || asked_.empty();
}

bool ReachProbe::ask(const MessageBytes& address) {
  const int family = address.size() == 4 ? AF_INET : AF_INET6;
  FileDescriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Over no other adapter, whatever the routes are.
  setsockopt(socket.get(), SOL_SOCKET, SO_BINDTODEVICE, interface_.data(), static_cast<socklen_t>(interface_.size()));
  const SocketAddress here = socket_address(from_, 0), there = socket_address(address, kDiscardPort);
  if (bind(socket.get(), here.get(), here.size) != 0) return false;
  const int error = connect(socket.get(), there.get(), there.size) == 0 ? 0 : errno;
  answered_ = answered_ || is_answer(error);
  if (error == EINPROGRESS) sockets_.push_back(std::move(socket));
  return true;
}

// The answers to the first questions count as well.
void ReachProbe::tick(Time now) {
  if (asked_again_ || answered_ || now < again_) return;
  asked_again_ = true;
  for (const MessageBytes& address : asked_) ask(address);
}

void ReachProbe::take(FileDescriptor& socket) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  answered_ = answered_ || is_answer(error);
  socket.reset();
}

void ReachProbe::watch(PollSet& poll_set) {
  for (FileDescriptor& socket : sockets_) {
    if (socket.is_open()) poll_set.add(socket.get(), POLLOUT, [this, &socket] { take(socket); });
  }
}

}  // namespace openlapi::daemon
