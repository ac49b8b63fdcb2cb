#include "bench/floors/udp_floor.h"

#include <netinet/udp.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace openlapi::bench {
namespace {

constexpr std::size_t kLongestDatagram = 65507;
constexpr std::size_t kReadRoom = 65536;
constexpr std::size_t kMaxSegments = 64;
constexpr double kGiveUp = 10e9;    // ns without any answer
constexpr double kSendAgain = 20e6;  // ns

double nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

// Receives one datagram into `room`, spinning; the clock is read every 64th time only. 0: nothing within `patience`.
std::size_t spin_receive(int socket, std::byte* room, double patience) {
  const double end = nanoseconds() + patience;
  for (unsigned spins = 1;; ++spins) {
    const ssize_t length = recv(socket, room, kReadRoom, 0);
    if (length > 0) return static_cast<std::size_t>(length);
    if (spins % 64 == 0 && nanoseconds() >= end) return 0;
  }
}

}  // namespace

int open_floor_socket(in_addr address, std::uint16_t& port) {
  const int opened = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (opened < 0) return -1;
  sockaddr_in local{};
  local.sin_family = AF_INET;
  local.sin_addr = address;
  socklen_t length = sizeof(local);
  if (bind(opened, reinterpret_cast<const sockaddr*>(&local), sizeof(local)) != 0 ||
      getsockname(opened, reinterpret_cast<sockaddr*>(&local), &length) != 0) {
    close(opened);
    return -1;
  }
  const int buffer = 4 << 20;
  if (setsockopt(opened, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof(buffer)) != 0) {
    setsockopt(opened, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
  }
  port = ntohs(local.sin_port);
  return opened;
}

bool connect_floor_socket(int socket, in_addr address, std::uint16_t port) {
  sockaddr_in peer{};
  peer.sin_family = AF_INET;
  peer.sin_addr = address;
  peer.sin_port = htons(port);
  return connect(socket, reinterpret_cast<const sockaddr*>(&peer), sizeof(peer)) == 0;
}

bool udp_pingpong_initiator(int socket, const PingPong& run, std::vector<double>& samples) {
  std::vector<std::byte> out(run.bytes);
  std::vector<std::byte> in(kReadRoom);
  double last_answer = nanoseconds();
  for (std::uint64_t number = 0; number < run.warm_up + run.iterations; ++number) {
    std::memcpy(out.data(), &number, sizeof(number));
    bool clean = true;
    const double start = nanoseconds();
    send(socket, out.data(), out.size(), 0);
    for (std::uint64_t answered = UINT64_MAX; answered != number;) {
      const std::size_t length = spin_receive(socket, in.data(), kSendAgain);
      if (length >= sizeof(answered)) std::memcpy(&answered, in.data(), sizeof(answered));
      if (length != 0) continue;
      clean = false;
      if (nanoseconds() - last_answer > kGiveUp) return false;
      send(socket, out.data(), out.size(), 0);
    }
    last_answer = nanoseconds();
    if (clean && number >= run.warm_up) samples.push_back((last_answer - start) / 2);
  }
  return true;
}

bool udp_pingpong_responder(int socket, const PingPong& run) {
  std::vector<std::byte> bytes(kReadRoom);
  const std::uint64_t last = std::uint64_t{run.warm_up} + run.iterations - 1;
  for (std::uint64_t number = UINT64_MAX; number != last;) {
    const std::size_t length = spin_receive(socket, bytes.data(), kGiveUp);
    if (length < sizeof(number)) return false;
    send(socket, bytes.data(), length, 0);
    std::memcpy(&number, bytes.data(), sizeof(number));
  }
  return true;
}

namespace {

// In front of every segment's payload, and alone as an acknowledgement (then `offset` is the next byte wanted).
struct SegmentHeader {
  std::uint64_t message;
  std::uint64_t offset;
};
constexpr std::uint64_t kEnd = UINT64_MAX;  // SegmentHeader::message: the sender has all acknowledgements

class StreamSender {
 public:
  StreamSender(int socket, const Stream& run, const std::byte* source)
      : socket_(socket), run_(run), source_(source), call_(kLongestDatagram) {}

  // Moves one message; false: the receiver does not answer.
  bool send_message(std::uint64_t message) {
    std::size_t sent = 0;
    std::size_t acknowledged = 0;
    double last_progress = nanoseconds();
    double last_send = last_progress;
    while (acknowledged < run_.message) {
      if (sent < run_.message && sent - acknowledged < run_.window) {
        const std::size_t moved = send_segments(message, sent);
        sent += moved;
        if (moved != 0) last_send = nanoseconds();
      }
      if (take_acknowledgements(message, acknowledged)) {
        last_progress = nanoseconds();
        sent = std::max(sent, acknowledged);
      } else if (++idle_ % 64 == 0) {
        const double now = nanoseconds();
        if (now - last_progress > kGiveUp) return false;
        if (now - std::max(last_progress, last_send) > kSendAgain) sent = acknowledged;
      }
    }
    return true;
  }

  void end() {
    const SegmentHeader header{kEnd, 0};
    send(socket_, &header, sizeof(header), 0);
  }

 private:
  // Fills one call from the source and hands it to the kernel; returns the payload bytes that went.
  std::size_t send_segments(std::uint64_t message, std::size_t from) {
    const std::size_t datagram = run_.segment + sizeof(SegmentHeader);
    const std::size_t most = segmented_ ? std::clamp<std::size_t>(kLongestDatagram / datagram, 1, kMaxSegments) : 1;
    std::size_t used = 0;
    std::size_t payload = 0;
    for (std::size_t i = 0; i < most && from + payload < run_.message; ++i) {
      const std::size_t length = std::min(run_.segment, run_.message - from - payload);
      const SegmentHeader header{message, from + payload};
      std::memcpy(call_.data() + used, &header, sizeof(header));
      std::memcpy(call_.data() + used + sizeof(header), source_ + from + payload, length);
      used += sizeof(header) + length;
      payload += length;
    }
    if (send_call(used, datagram)) return payload;
    if (errno != EINVAL && errno != EIO && errno != EMSGSIZE) return 0;
    segmented_ = false;
    return 0;
  }

  bool send_call(std::size_t used, std::size_t datagram) {
    if (used <= datagram) return send(socket_, call_.data(), used, 0) >= 0;
    iovec piece{call_.data(), used};
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(std::uint16_t))];
    msghdr call{};
    call.msg_iov = &piece;
    call.msg_iovlen = 1;
    call.msg_control = control;
    call.msg_controllen = sizeof(control);
    cmsghdr* header = CMSG_FIRSTHDR(&call);
    header->cmsg_level = IPPROTO_UDP;
    header->cmsg_type = UDP_SEGMENT;
    header->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto size = static_cast<std::uint16_t>(datagram);
    std::memcpy(CMSG_DATA(header), &size, sizeof(size));
    return sendmsg(socket_, &call, 0) >= 0;
  }

  bool take_acknowledgements(std::uint64_t message, std::size_t& acknowledged) {
    bool progress = false;
    SegmentHeader header;
    // Only the last one counts, but after the first there is rarely another: no second look.
    if (recv(socket_, &header, sizeof(header), 0) == sizeof(header) && header.message == message &&
        header.offset > acknowledged) {
      acknowledged = header.offset;
      progress = true;
    }
    return progress;
  }

  int socket_;
  const Stream& run_;
  const std::byte* source_;
  std::vector<std::byte> call_;
  bool segmented_ = true;
  unsigned idle_ = 0;
};

class StreamReceiver {
 public:
  StreamReceiver(int socket, const Stream& run, std::byte* destination)
      : socket_(socket), run_(run), destination_(destination), call_(kReadRoom) {
    const int on = 1;
    coalescing_ = setsockopt(socket_, IPPROTO_UDP, UDP_GRO, &on, sizeof(on)) == 0;
  }
  ~StreamReceiver() {
    const int off = 0;
    if (coalescing_) setsockopt(socket_, IPPROTO_UDP, UDP_GRO, &off, sizeof(off));
  }

  bool receive_messages(std::uint64_t messages) {
    double last_arrival = nanoseconds();
    for (unsigned spins = 1; !ended_; ++spins) {
      if (receive_call()) {
        last_arrival = nanoseconds();
      } else if (spins % 64 == 0) {
        const double silence = nanoseconds() - last_arrival;
        if (message_ == messages && silence > 5 * kSendAgain) return true;  // the end was lost
        if (silence > kGiveUp) return false;
      }
    }
    return message_ == messages;
  }

 private:
  bool receive_call() {
    iovec piece{call_.data(), call_.size()};
    alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof(int))];
    msghdr call{};
    call.msg_iov = &piece;
    call.msg_iovlen = 1;
    call.msg_control = control;
    call.msg_controllen = sizeof(control);
    const ssize_t received = recvmsg(socket_, &call, 0);
    if (received <= 0) return false;
    const auto length = static_cast<std::size_t>(received);
    int segment = 0;
    for (cmsghdr* header = CMSG_FIRSTHDR(&call); header != nullptr; header = CMSG_NXTHDR(&call, header)) {
      if (header->cmsg_type == UDP_GRO) std::memcpy(&segment, CMSG_DATA(header), sizeof(segment));
    }
    const std::size_t step = segment > 0 ? static_cast<std::size_t>(segment) : length;
    for (std::size_t at = 0; at < length; at += step) take_segment(call_.data() + at, std::min(step, length - at));
    return true;
  }

  void take_segment(const std::byte* bytes, std::size_t length) {
    if (length < sizeof(SegmentHeader)) return;
    SegmentHeader header;
    std::memcpy(&header, bytes, sizeof(header));
    if (header.message == kEnd) {
      ended_ = true;
      return;
    }
    const std::size_t payload = length - sizeof(header);
    if (header.message != message_ || header.offset != next_ || payload > run_.message - next_) {
      const bool finished = header.message < message_;
      acknowledge(finished ? SegmentHeader{header.message, run_.message} : SegmentHeader{message_, next_});
      return;
    }
    std::memcpy(destination_ + next_, bytes + sizeof(header), payload);
    next_ += payload;
    if (next_ < run_.message && next_ - acknowledged_ < run_.window / 2) return;
    acknowledged_ = next_;
    acknowledge({message_, next_});
    if (next_ == run_.message) {
      ++message_;
      next_ = acknowledged_ = 0;
    }
  }

  void acknowledge(const SegmentHeader& header) { send(socket_, &header, sizeof(header), 0); }

  int socket_;
  const Stream& run_;
  std::byte* destination_;
  std::vector<std::byte> call_;
  bool coalescing_ = false;
  bool ended_ = false;
  std::uint64_t message_ = 0;      // the one that is arriving
  std::size_t next_ = 0;           // its first byte that is missing
  std::size_t acknowledged_ = 0;   // its bytes that the sender was told of
};

}  // namespace

bool udp_stream_sender(int socket, const Stream& run, const std::byte* source, std::vector<double>& samples) {
  StreamSender sender(socket, run, source);
  for (std::uint64_t message = 0; message <= run.messages; ++message) {
    const double start = nanoseconds();
    if (!sender.send_message(message)) return false;
    if (message != 0) samples.push_back(nanoseconds() - start);
  }
  sender.end();
  return true;
}

bool udp_stream_receiver(int socket, const Stream& run, std::byte* destination) {
  StreamReceiver receiver(socket, run, destination);
  return receiver.receive_messages(std::uint64_t{run.messages} + 1);
}

}  // namespace openlapi::bench
