#include "bench/perf/rdma_floor.h"

#include <time.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace openlapi::bench {
namespace {

constexpr unsigned kIterations = 1000;
constexpr std::uint64_t kStreamBytes = 32u << 20;
constexpr std::uint64_t kFirstPort = 19'000, kPorts = 10'000;
constexpr unsigned kTypicalLatency = 4, kAverageBandwidth = 3;  // columns
constexpr double kMegabyte = 1024 * 1024;                       // of perftest
constexpr int kTries = 200;                                     // until the server listens
constexpr timespec kBetweenTries{0, 20'000'000};

// What a command prints; empty when it failed.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* const pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  std::array<char, 512> piece;
  for (std::size_t count; (count = std::fread(piece.data(), 1, piece.size(), pipe)) != 0;) {
    text.append(piece.data(), count);
  }
  return pclose(pipe) == 0 ? text : std::string();
}

}  // namespace

std::string perftest_device(const std::string& euidevice) {
  std::istringstream in(euidevice);
  std::string device, port, gid;
  std::getline(in, device, ':');
  std::getline(in, port, ':');
  std::getline(in, gid, ':');
  if (device.empty() || device.starts_with("sn_")) return {};
  return " -d " + device + (port.empty() ? "" : " -i " + port) + (gid.empty() ? "" : " -x " + gid);
}

double perftest_figure(const std::string& output, unsigned column) {
  std::istringstream lines(output);
  double figure = 0;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::vector<double> figures;
    for (double value; words >> value;) figures.push_back(value);
    if (figures.size() > column) figure = figures[column];
  }
  return figure;
}

bool RdmaFloor::open(std::string& error) {
  const char* const euidevice = std::getenv("MP_EUIDEVICE");
  device_ = perftest_device(euidevice != nullptr ? euidevice : "");
  if (std::system("command -v ib_send_lat ib_read_bw >/dev/null") == 0) return true;
  error = "--transport verbs compares with ib_send_lat and ib_read_bw, which are not in PATH (Debian: perftest)";
  return false;
}

// Task 1 serves, task 0 asks until the server listens.
std::string RdmaFloor::run(const std::string& words) {
  const auto start = static_cast<std::uint64_t>(getpid()) * 13 + monotonic_nanoseconds() / 1'000'000;
  const std::uint64_t port = region_.agree(kFirstPort + start % kPorts);
  const std::string command = "timeout 60 " + words + device_ + " -F -p " + std::to_string(port);
  std::string output;
  if (region_.side() == 1) {
    output_of(command + " 2>&1");
  } else {
    for (int tries = 0; output.empty() && tries < kTries; ++tries) {
      output = output_of(command + " 127.0.0.1 2>/dev/null");
      if (output.empty()) nanosleep(&kBetweenTries, nullptr);
    }
  }
  region_.barrier();
  return output;
}

void RdmaFloor::ping_pong(std::size_t length, QueuePair kind, double parts, Samples* samples) {
  const std::string output = run(std::string("ib_send_lat -c ") + (kind == QueuePair::datagram ? "UD" : "RC") + " -n " +
                                 std::to_string(kIterations) + " -s " + std::to_string(length));
  const double half = perftest_figure(output, kTypicalLatency) * 1000;
  if (samples != nullptr && half > 0) samples->push_back(half * 2 / parts);
}

void RdmaFloor::read_stream(std::size_t length, Samples* samples) {
  const std::uint64_t messages = std::max<std::uint64_t>(8, kStreamBytes / length);
  const std::string output = run("ib_read_bw -n " + std::to_string(messages) + " -s " + std::to_string(length));
  const double bandwidth = perftest_figure(output, kAverageBandwidth) * kMegabyte;
  if (samples != nullptr && bandwidth > 0) samples->push_back(static_cast<double>(length) / bandwidth * 1e9);
}

}  // namespace openlapi::bench
