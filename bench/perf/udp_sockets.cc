#include "bench/perf/udp_sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bench/floors/udp_floor.h"

namespace openlapi::bench {
namespace {

constexpr unsigned kWarmUp = 16;
constexpr std::size_t kSmallSegment = 64;

}  // namespace

UdpSockets::~UdpSockets() {
  if (socket_ >= 0) close(socket_);
}

bool UdpSockets::open(std::string& error) {
  const in_addr loopback{htonl(INADDR_LOOPBACK)};
  std::uint16_t port = 0;
  socket_ = open_floor_socket(loopback, port);
  const int refused = errno;
  const auto other = static_cast<std::uint16_t>(region_.exchange(socket_ < 0 ? 0 : port));
  if (socket_ >= 0 && other != 0 && connect_floor_socket(socket_, loopback, other)) return true;
  error = "no socket for the floor of UDP on 127.0.0.1: " + std::string(std::strerror(socket_ < 0 ? refused : errno));
  return false;
}

void UdpSockets::lost() const {
  std::fprintf(stderr, "lapi_perf: the bare sockets of the floor got no answer for ten seconds\n");
  std::exit(1);
}

std::vector<std::byte>& UdpSockets::buffer(std::size_t length) {
  if (buffer_.size() < length) buffer_.resize(length);
  return buffer_;
}

void UdpSockets::ping_pong(std::uint64_t iterations, std::size_t length, double parts, Samples* samples) {
  const PingPong run{length, kWarmUp, static_cast<unsigned>(iterations)};
  region_.barrier();
  Samples halves;
  if (!(region_.side() == 0 ? udp_pingpong_initiator(socket_, run, halves) : udp_pingpong_responder(socket_, run)))
    lost();
  if (samples == nullptr) return;
  for (const double half : halves) samples->push_back(half * 2 / parts);
}

void UdpSockets::stream(std::uint64_t messages, std::size_t length, Samples* samples) {
  Stream run{.message = length};
  run.messages = static_cast<unsigned>(messages);
  std::vector<std::byte>& memory = buffer(length);
  Samples own;
  region_.barrier();
  const bool sent = region_.side() == 0
                        ? udp_stream_sender(socket_, run, memory.data(), samples != nullptr ? *samples : own)
                        : udp_stream_receiver(socket_, run, memory.data());
  if (!sent) lost();
}

void UdpSockets::small_segments(std::uint64_t puts, Samples* samples) {
  Stream run{.message = puts * kSmallSegment, .segment = kSmallSegment};
  run.messages = 1;
  std::vector<std::byte>& memory = buffer(run.message);
  Samples own;
  region_.barrier();
  const bool sent = region_.side() == 0 ? udp_stream_sender(socket_, run, memory.data(), own)
                                        : udp_stream_receiver(socket_, run, memory.data());
  if (!sent) lost();
  if (samples == nullptr) return;
  for (const double whole : own) samples->push_back(whole / static_cast<double>(puts));
}

void UdpSockets::both_ways(std::uint64_t iterations, std::size_t length, Samples* samples) {
  std::vector<std::byte>& memory = buffer(length);
  region_.barrier();
  time_batches(iterations, 1, 1, samples, [&] {
    if (send(socket_, memory.data(), length, 0) < 0) lost();
    const std::uint64_t end = monotonic_nanoseconds() + 10'000'000'000ull;
    while (recv(socket_, memory.data(), length, 0) < 0) {
      if (monotonic_nanoseconds() > end) lost();
    }
  });
}

}  // namespace openlapi::bench
