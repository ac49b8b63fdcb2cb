// The UDP transport beside bare sockets, alternated in one run on loopback: half round trip of one packet, a windowed
// stream of packets of the transport's own size, and small packets per second in bursts. Prints medians and ratios.
//   udp_transport_bench [rounds]        UDP_BENCH_PACKET=1472 in the environment: datagrams as on an Ethernet
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "bench/floors/udp_floor.h"
#include "nic/udp/udp_transport.h"

namespace openlapi::bench {
namespace {

constexpr std::size_t kLongestMessage = 4 << 20;
constexpr unsigned kIterations = 5000;

double nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof(set), &set);
}

struct Board {
  std::atomic<std::uint64_t> arrived;
  std::atomic<std::uint16_t> floor_port[2];
  PeerAddress address[2];
};

// One of the two processes: a bare socket and a transport, both connected to the other's.
class Side {
 public:
  Side(Board& board, unsigned side) : board_(board), side_(side), buffer_(kLongestMessage, std::byte{1}) {
    UdpConfig config;
    config.address.s_addr = htonl(INADDR_LOOPBACK);
    if (const char* size = std::getenv("UDP_BENCH_PACKET")) config.packet_size = static_cast<unsigned>(std::atoi(size));
    UdpSetupError error;
    transport_ = open_udp_transport(config, error);
    std::uint16_t port = 0;
    floor_ = open_floor_socket(config.address, port);
    if (!transport_ || floor_ < 0) fail(error.text.c_str());
    board.floor_port[side].store(port);
    board.address[side] = transport_->local_address();
    meet();
    std::string reason;
    if (!transport_->add_peer(1 - side, board.address[1 - side], reason)) fail(reason.c_str());
    if (!connect_floor_socket(floor_, config.address, board.floor_port[1 - side].load())) fail("connect");
    meet();
  }
  ~Side() { close(floor_); }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;

  void meet() {
    board_.arrived.fetch_add(1);
    const std::uint64_t goal = 2 * ++meetings_;
    while (board_.arrived.load() < goal) sched_yield();
  }

  double floor_latency(std::size_t bytes) {
    meet();
    const PingPong run{bytes, 200, kIterations};
    std::vector<double> samples;
    const bool well = side_ == 0 ? udp_pingpong_initiator(floor_, run, samples) : udp_pingpong_responder(floor_, run);
    if (!well) fail("floor ping-pong");
    return median(std::move(samples));
  }

  double transport_latency(std::uint32_t bytes) {
    meet();
    std::vector<double> samples;
    for (unsigned i = 0; i < 200 + kIterations; ++i) {
      const double start = nanoseconds();
      if (side_ == 0) send_one(bytes);
      receive_one();
      if (side_ == 1) send_one(bytes);
      if (i >= 200) samples.push_back((nanoseconds() - start) / 2);
    }
    return median(std::move(samples));
  }

  // GB/s
  double floor_stream(const Stream& run) {
    meet();
    std::vector<double> samples;
    const bool well = side_ == 0 ? udp_stream_sender(floor_, run, buffer_.data(), samples)
                                 : udp_stream_receiver(floor_, run, buffer_.data());
    if (!well) fail("floor stream");
    return side_ == 0 ? static_cast<double>(run.message) / median(std::move(samples)) : 0;
  }

  // Messages in packets of the longest size, with the stream's window and answers, copied to their place. GB/s
  double transport_stream(const Stream& run) {
    meet();
    std::vector<double> samples;
    for (unsigned i = 0; i <= run.messages; ++i) {
      const double start = nanoseconds();
      side_ == 0 ? send_message(run) : receive_message(run);
      if (i != 0) samples.push_back(nanoseconds() - start);
    }
    return side_ == 0 ? static_cast<double>(run.message) / median(std::move(samples)) : 0;
  }

  // Million packets of `bytes` per second, in bursts, one answer for 1,024.
  double transport_rate(std::uint32_t bytes) {
    meet();
    const ConstBuffer piece{buffer_.data(), bytes};
    const std::vector<OutgoingPacket> burst(32, OutgoingPacket{{&piece, 1}, bytes});
    constexpr unsigned kRounds = 200;
    constexpr std::size_t kAnswerEach = 1024;
    std::vector<double> samples;
    for (unsigned round = 0; round < kRounds; ++round) {
      const double start = nanoseconds();
      for (std::size_t done = 0; side_ == 0 && done < kAnswerEach;) done += transport_->send_burst(1, burst);
      if (side_ == 1) receive_many(kAnswerEach);
      side_ == 0 ? receive_one() : send_one(8);
      samples.push_back(nanoseconds() - start);
    }
    return static_cast<double>(kAnswerEach) * 1e3 / median(std::move(samples));
  }

 private:
  [[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "udp_transport_bench: %s\n", what);
    std::exit(1);
  }

  void send_one(std::uint32_t bytes) {
    const ConstBuffer piece{buffer_.data(), bytes};
    const OutgoingPacket packet{{&piece, 1}, bytes};
    while (transport_->send_burst(1 - side_, {&packet, 1}) == 0) {
    }
  }

  void receive_one() { receive_many(1); }

  void receive_many(std::size_t count) {
    IncomingPacket packets[64];
    while (count > 0) {
      const std::size_t got = transport_->receive_burst(packets);
      transport_->release(got);
      count -= std::min(got, count);
    }
  }

  void send_message(const Stream& run) {
    const std::size_t payload = (transport_->limits().max_packet - sizeof(std::uint64_t)) & ~std::size_t{7};
    std::uint64_t offsets[32];
    ConstBuffer pieces[32][2];
    OutgoingPacket packets[32];
    std::size_t sent = 0;
    std::size_t acknowledged = 0;
    while (acknowledged < run.message) {
      std::size_t count = 0;
      std::size_t ahead = sent;
      while (count < 32 && ahead < run.message && ahead - acknowledged < run.window) {
        const std::size_t length = std::min(payload, run.message - ahead);
        offsets[count] = ahead;
        pieces[count][0] = {&offsets[count], sizeof(offsets[count])};
        pieces[count][1] = {buffer_.data() + ahead, length};
        packets[count] = {pieces[count], static_cast<std::uint32_t>(length + sizeof(offsets[count]))};
        ahead += length;
        ++count;
      }
      const std::size_t taken = count == 0 ? 0 : transport_->send_burst(1, {packets, count});
      for (std::size_t i = 0; i < taken; ++i) sent += pieces[i][1].length;
      IncomingPacket answer;
      if (transport_->receive_burst({&answer, 1}) == 1) {
        std::memcpy(&acknowledged, answer.data, sizeof(acknowledged));
        transport_->release(1);
      }
    }
  }

  void receive_message(const Stream& run) {
    std::size_t received = 0;
    std::size_t acknowledged = 0;
    while (received < run.message) {
      IncomingPacket packets[32];
      const std::size_t count = transport_->receive_burst(packets);
      for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t offset = 0;
        std::memcpy(&offset, packets[i].data, sizeof(offset));
        const std::size_t length = packets[i].length - sizeof(offset);
        std::memcpy(buffer_.data() + offset, packets[i].data + sizeof(offset), length);
        received += length;
      }
      transport_->release(count);
      if (received < run.message && received - acknowledged < run.window / 2) continue;
      acknowledged = received;
      const ConstBuffer piece{&acknowledged, sizeof(acknowledged)};
      const OutgoingPacket answer{{&piece, 1}, sizeof(acknowledged)};
      while (transport_->send_burst(0, {&answer, 1}) == 0) {
      }
    }
  }

  Board& board_;
  unsigned side_;
  std::uint64_t meetings_ = 0;
  std::vector<std::byte> buffer_;
  int floor_ = -1;
  std::unique_ptr<UdpTransport> transport_;
};

void latencies(Side& side, bool prints, unsigned rounds) {
  for (const std::uint32_t bytes : {8U, 64U, 1024U, 8184U}) {
    std::vector<double> floors, ours, ratios;
    for (unsigned round = 0; round < rounds; ++round) {
      floors.push_back(side.floor_latency(bytes));
      ours.push_back(side.transport_latency(bytes));
      ratios.push_back(ours.back() / floors.back());
    }
    if (!prints) continue;
    std::printf("half round trip %5u B: bare %.0f ns, transport %.0f ns, ratio %.3f\n", bytes, median(floors),
                median(ours), median(ratios));
  }
}

void streams(Side& side, bool prints, unsigned rounds) {
  for (const std::size_t message : {std::size_t{64} << 10, std::size_t{1} << 20, std::size_t{4} << 20}) {
    for (const std::size_t window : {std::size_t{128} << 10, std::size_t{256} << 10, std::size_t{512} << 10}) {
      std::vector<double> floors, longest, ours, ratios;
      for (unsigned round = 0; round < rounds; ++round) {
        Stream run{.message = message, .window = window};
        floors.push_back(side.floor_stream(run));
        ours.push_back(side.transport_stream(run));
        run.segment = 65488;
        longest.push_back(side.floor_stream(run));
        if (prints) ratios.push_back(ours.back() / std::max(floors.back(), longest.back()));
      }
      if (!prints) continue;
      std::printf("stream %4zu KiB, window %3zu KiB: bare segmented %.2f GB/s, bare 64 KiB datagrams %.2f GB/s, "
                  "transport %.2f GB/s, of the better %.2f\n",
                  message >> 10, window >> 10, median(floors), median(longest), median(ours), median(ratios));
    }
  }
}

void measure(Side& side, bool prints, unsigned rounds) {
  latencies(side, prints, rounds);
  streams(side, prints, rounds);
  for (const std::uint32_t bytes : {8U, 64U, 1024U}) {
    std::vector<double> rates;
    for (unsigned round = 0; round < rounds; ++round) rates.push_back(side.transport_rate(bytes));
    if (prints) std::printf("packets of %4u B in bursts of 32: %.2f million/s\n", bytes, median(rates));
  }
}

int run(unsigned rounds) {
  void* memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* board = new (memory) Board{};
  const pid_t child = fork();
  const unsigned own = child == 0 ? 1 : 0;
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(static_cast<int>(own));
  {
    Side side(*board, own);
    measure(side, own == 0, rounds);
  }
  if (child == 0) _exit(0);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 7;
  return openlapi::bench::run(rounds > 0 ? static_cast<unsigned>(rounds) : 7);
}
