// The verbs transport beside perftest's ib_send_lat with the same kind of queue pair (UD), alternated in one run
// between two devices of one machine: half round trips of one packet. Prints medians and ratios. On a machine without
// RDMA:
//   tests/beds/soft-roce -- build/bench/verbs_bench [rounds] [device] [other device]
#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "nic/verbs/verbs_transport.h"

namespace openlapi::bench {
namespace {

constexpr unsigned kWarmUp = 200;
constexpr unsigned kIterations = 2000;
constexpr std::array<std::uint32_t, 3> kSizes = {8, 1024, 4096};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "verbs_bench: %s\n", what.c_str());
  std::exit(1);
}

double microseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

// One end of a two-way pipe: the processes sleep in it while perftest has the machine.
class Line {
 public:
  Line(int in, int out) : in_(in), out_(out) {}
  template <typename Value>
  void tell(const Value& value) {
    if (write(out_, &value, sizeof value) != sizeof value) fail("the other process is gone");
  }
  // False: the other end is closed.
  template <typename Value>
  bool hear(Value& value) {
    return read(in_, &value, sizeof value) == static_cast<ssize_t>(sizeof value);
  }

 private:
  int in_, out_;
};

class Side {
 public:
  Side(const char* device, Line line) : line_(line), bytes_(4096) {
    VerbsConfig config;
    config.port.device = device;
    VerbsSetupError error;
    transport_ = open_verbs_transport(config, error);
    if (!transport_) fail(error.text);
    line_.tell(transport_->local_address());
    PeerAddress address;
    std::string reason;
    if (!line_.hear(address)) fail(reason);
    while (!transport_->add_peer(0, address, reason)) {
      if (!transport_->is_undecided()) fail(reason);
    }
  }

  // Median of the half round trips; tells the other side to answer.
  double initiate(std::uint32_t size) {
    line_.tell(size);
    std::vector<double> samples;
    for (unsigned i = 0; i < kWarmUp + kIterations; ++i) {
      const double start = microseconds();
      send(size);
      receive();
      if (i >= kWarmUp) samples.push_back((microseconds() - start) / 2);
    }
    return median(std::move(samples));
  }

  void respond() {
    for (std::uint32_t size = 0; line_.hear(size);) {
      for (unsigned i = 0; i < kWarmUp + kIterations; ++i) {
        receive();
        send(size);
      }
    }
  }

  std::uint32_t max_packet() const { return transport_->limits().max_packet; }

 private:
  void send(std::uint32_t size) {
    const ConstBuffer piece{bytes_.data(), size};
    const OutgoingPacket packet{{&piece, 1}, size};
    while (transport_->send_burst(0, {&packet, 1}) == 0) {
    }
  }

  void receive() {
    IncomingPacket packet;
    const double start = microseconds();
    for (unsigned looks = 1; transport_->receive_burst({&packet, 1}) == 0; ++looks) {
      if (looks % 65536 == 0 && microseconds() - start > 5e6) fail("a packet was lost");
    }
    transport_->release(1);
  }

  Line line_;
  std::unique_ptr<VerbsTransport> transport_;
  std::vector<std::byte> bytes_;
};

// Typical half round trip that ib_send_lat prints; the server is on the second core and device.
double perftest(const char* device, const char* other, std::uint32_t size) {
  static int port = 19000;
  const auto command = [&](int core, const char* own) {
    return "taskset -c " + std::to_string(core) + " ib_send_lat -c UD -F -x 1 -n " + std::to_string(kIterations) +
           " -s " + std::to_string(size) + " -p " + std::to_string(port) + " -d " + own;
  };
  ++port;
  const pid_t server = fork();
  if (server == 0) {
    const std::string words = "exec " + command(1, other) + " >/dev/null 2>&1";
    execl("/bin/sh", "sh", "-c", words.c_str(), nullptr);
    _exit(127);
  }
  double typical = 0;
  for (int tries = 0; typical == 0 && tries < 100 && waitpid(server, nullptr, WNOHANG) == 0; ++tries) {
    FILE* const output = popen((command(0, device) + " 127.0.0.1 2>/dev/null").c_str(), "r");
    std::array<char, 512> line;
    while (output != nullptr && std::fgets(line.data(), line.size(), output) != nullptr) {
      unsigned bytes = 0, iterations = 0;
      double least = 0, most = 0;
      if (std::sscanf(line.data(), " %u %u %lf %lf %lf", &bytes, &iterations, &least, &most, &typical) == 5) continue;
    }
    if (output != nullptr) pclose(output);
  }
  kill(server, SIGTERM);
  waitpid(server, nullptr, 0);
  if (typical == 0) fail("ib_send_lat (Debian: perftest) did not measure anything");
  return typical;
}

int run(unsigned rounds, const char* device, const char* other) {
  int down[2], up[2];
  if (pipe2(down, O_CLOEXEC) != 0 || pipe2(up, O_CLOEXEC) != 0) fail("no pipe");
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(down[1]);
    pin(1);
    Side(other, Line(down[0], up[1])).respond();
    _exit(0);
  }
  pin(0);
  Side side(device, Line(up[0], down[1]));
  std::printf("half round trip, microseconds, median of %u rounds\n%8s %12s %12s %8s\n", rounds, "bytes", "transport",
              "ib_send_lat", "ratio");
  for (const std::uint32_t size : kSizes) {
    if (size > side.max_packet()) continue;
    std::vector<double> own, floor, ratios;
    for (unsigned round = 0; round < rounds; ++round) {
      own.push_back(side.initiate(size));
      floor.push_back(perftest(device, other, size));
      ratios.push_back(own.back() / floor.back());
    }
    std::printf("%8u %12.2f %12.2f %8.2f\n", size, median(own), median(floor), median(ratios));
    std::fflush(stdout);
  }
  close(down[1]);
  waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** words) {
  const unsigned rounds = count > 1 ? static_cast<unsigned>(std::atoi(words[1])) : 5;
  if (rounds == 0) openlapi::bench::fail("the number of rounds is 1 or more");
  return openlapi::bench::run(rounds, count > 2 ? words[2] : "rxe0", count > 3 ? words[3] : "rxe1");
}
