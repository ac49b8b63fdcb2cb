// What the processes of a universe do alike with their sockets. Nothing here waits.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/file_descriptor.h"

namespace openlapi {

inline std::string address_text(in_addr address) {
  char text[INET_ADDRSTRLEN] = "";
  inet_ntop(AF_INET, &address, text, sizeof text);
  return text;
}

// "10.0.0.1:4711"
inline std::string address_text(const sockaddr_in& address) {
  return address_text(address.sin_addr) + ":" + std::to_string(ntohs(address.sin_port));
}

inline sockaddr_in ipv4_address(in_addr address, std::uint32_t port) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_addr = address;
  result.sin_port = htons(static_cast<std::uint16_t>(port));
  return result;
}

// `address`: in this machine's byte order, as daemons tell each other.
inline sockaddr_in ipv4_address(std::uint32_t address, std::uint32_t port) {
  return ipv4_address(in_addr{htonl(address)}, port);
}

// Sends what the socket takes now, and removes it from `bytes`. False: the connection is broken.
inline bool send_waiting(int socket, std::vector<std::uint8_t>& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno == EAGAIN;
    bytes.erase(bytes.begin(), bytes.begin() + sent);
  }
  return true;
}

inline FileDescriptor make_tcp_socket() {
  return FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// Has that address and a port that the kernel chooses and that `here` gets. Not open: errno says why.
inline FileDescriptor bind_to(sockaddr_in& here) {
  FileDescriptor socket = make_tcp_socket();
  socklen_t size = sizeof here;
  if (socket.is_open() && bind(socket.get(), reinterpret_cast<const sockaddr*>(&here), size) == 0 &&
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&here), &size) == 0) {
    return socket;
  }
  return {};
}

// Likewise, and listens there.
inline FileDescriptor listen_on(sockaddr_in& here, int backlog) {
  FileDescriptor socket = bind_to(here);
  if (socket.is_open() && listen(socket.get(), backlog) == 0) return socket;
  return {};
}

// The next connection that waits at `listener`. Not open: there is none, or errno says why.
inline FileDescriptor accept_from(int listener, sockaddr_in& from) {
  socklen_t size = sizeof from;
  return FileDescriptor(accept4(listener, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
}

// False: it cannot be reached; errno says why. Otherwise connect_error() tells the rest once the socket can be written.
inline bool begin_to_connect(int socket, const sockaddr_in& there) {
  return connect(socket, reinterpret_cast<const sockaddr*>(&there), sizeof there) == 0 || errno == EINPROGRESS;
}

// What has become of it: 0, or an error.
inline int connect_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

// When the kernel takes the other side for dead: it is asked after so many seconds of silence, so many times, and what
// is sent must be acknowledged in time.
struct SilenceLimits {
  int seconds_before_asking, seconds_between, times;
  int milliseconds_of_sending;
};

// A machine that has died or is cut off says nothing: the kernel finds out within 5 + 3 * 2 s, and 11 s when something
// was being sent.
inline constexpr SilenceLimits kUniverseSilence{
    .seconds_before_asking = 5, .seconds_between = 2, .times = 3, .milliseconds_of_sending = 11'000};

// A side that has asked in vain almost as often as it may, and sends something then, waits for that anew.
constexpr std::chrono::seconds longest_to_notice(const SilenceLimits& limits) {
  const std::chrono::seconds asking(limits.seconds_before_asking + limits.times * limits.seconds_between);
  return asking + std::chrono::ceil<std::chrono::seconds>(std::chrono::milliseconds(limits.milliseconds_of_sending));
}

inline void limit_silence(int socket, const SilenceLimits& limits) {
  const auto set = [&](int level, int option, int value) { setsockopt(socket, level, option, &value, sizeof value); };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, limits.seconds_before_asking);
  set(IPPROTO_TCP, TCP_KEEPINTVL, limits.seconds_between);
  set(IPPROTO_TCP, TCP_KEEPCNT, limits.times);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, limits.milliseconds_of_sending);
}

// For connections between nodes: the death of the other machine is noticed, and messages leave without delay.
inline void watch_silence(int socket) {
  limit_silence(socket, kUniverseSilence);
  const int on = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace openlapi
