#include "bench/perf/dpdk_floor.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace openlapi::bench {
namespace {

constexpr std::uint64_t kRoundTrips = 20'000, kFewestFrames = 20'000, kMostFrames = 400'000;
constexpr std::uint64_t kFrameStreamBytes = 256u << 20;
constexpr std::size_t kShortestFrame = 64;

// The first number that a command prints; 0: it failed.
double figure_of(const std::string& command) {
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return 0;
  double figure = 0;
  const bool printed = std::fscanf(pipe, "%lf", &figure) == 1;
  return pclose(pipe) == 0 && printed ? figure : 0;
}

}  // namespace

bool DpdkFloor::open(std::string& error) {
  std::array<char, 4096> self{};
  const ssize_t length = readlink("/proc/self/exe", self.data(), self.size() - 1);
  const std::string path(self.data(), length < 0 ? 0 : static_cast<std::size_t>(length));
  program_ = path.substr(0, path.rfind('/') + 1) + "dpdk_floor";
  if (access(program_.c_str(), X_OK) != 0) {
    error = "--transport dpdk compares with " + program_ + ", which is not there (ninja bench/dpdk_floor)";
    return false;
  }
  if (std::getenv("DPDK_FLOOR_DEVICE") != nullptr) return true;
  error =
      "--transport dpdk compares with a port of dpdk_floor's, which DPDK_FLOOR_DEVICE names: see bench/lapi_perf_dpdk";
  return false;
}

double DpdkFloor::run(const char* what, std::size_t frame, std::uint64_t count) {
  const std::uint64_t session = region_.agree(monotonic_nanoseconds());
  const double figure =
      figure_of("exec timeout 60 " + program_ + " " + what + " " + std::to_string(frame) + " " + std::to_string(count) +
                " " + std::to_string(region_.side()) + " " + std::to_string(session));
  region_.barrier();
  return figure;
}

void DpdkFloor::ping_pong(std::size_t length, double parts, Samples* samples) {
  const double half = run("ping", std::max(kShortestFrame, length + kHeader), kRoundTrips);
  if (samples != nullptr && half > 0) samples->push_back(half * 2 / parts);
}

void DpdkFloor::stream(std::size_t length, std::size_t packet, Samples* samples) {
  const std::size_t in_frame = std::min(length, packet);
  const std::uint64_t frames = std::clamp<std::uint64_t>(kFrameStreamBytes / in_frame, kFewestFrames, kMostFrames);
  const double each = run("stream", std::max(kShortestFrame, in_frame + kHeader), frames);
  const auto packets = static_cast<double>((length + packet - 1) / packet);
  if (samples != nullptr && each > 0) samples->push_back(each * packets);
}

}  // namespace openlapi::bench
