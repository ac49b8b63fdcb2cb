// The shared-memory transport beside the bare hardware, alternated in one run: a one-line flag ping-pong and a
// single-producer ring of 64-byte slots against the same with packets. Prints medians and ratios.
//   shm_channel_bench [rounds] [repetitions]
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "dataplane/poller/backoff.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

constexpr std::size_t kRingSlots = 128;

struct alignas(64) RingSlot {
  std::atomic<std::uint64_t> sequence;
  std::byte data[56];
};

// Memory of the floors, and where the child leaves its figures.
struct Floor {
  alignas(128) std::atomic<std::uint64_t> flag;
  alignas(128) std::atomic<std::uint64_t> meeting;
  alignas(128) std::atomic<std::uint64_t> ring_head;
  alignas(128) RingSlot ring[kRingSlots];
  alignas(128) std::atomic<std::uint64_t> size_flag[2];
  alignas(128) std::byte bytes[2][32768];
};

double seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

inline void relax() { __builtin_ia32_pause(); }

class Side {
 public:
  Side(Floor& floor, int side, std::uint64_t cookie) : floor_(floor), side_(side), peer_(side == 0 ? 1u : 0u) {
    ShmConfig config{.cookie = cookie, .self = static_cast<PeerIndex>(side), .local_tasks = {0, 1}};
    ShmSetupError error;
    const double start = seconds();
    transport_ = open_shm_transport(config, error);
    setup_ = seconds() - start;
    if (!transport_) {
      std::fprintf(stderr, "shm_channel_bench: %s\n", error.reason.c_str());
      std::exit(1);
    }
    std::string reason;
    if (!transport_->add_peer(peer_, transport_->address_of(peer_), reason)) std::exit(1);
  }

  double setup() const { return setup_; }

  void meet() {
    floor_.meeting.fetch_add(1);
    const std::uint64_t goal = 2 * ++meetings_;
    for (std::uint64_t spins = 1; floor_.meeting.load() < goal; ++spins) {
      relax();
      // The other side may have died, of a closed pipe for instance.
      if (spins % (1 << 20) == 0 && side_ == 0 && waitpid(-1, nullptr, WNOHANG) != 0) std::exit(1);
    }
  }

  void flag_ping_pong(std::uint64_t rounds) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      const std::uint64_t mine = flag_base_ + 2 * i + 1 + static_cast<std::uint64_t>(side_);
      while (floor_.flag.load(std::memory_order_acquire) != mine - 1) {
      }
      floor_.flag.store(mine, std::memory_order_release);
    }
    while (floor_.flag.load(std::memory_order_acquire) != flag_base_ + 2 * rounds) {
    }
    flag_base_ += 2 * rounds;
  }

  // Bare ping-pong of n fresh bytes: written by one side, all read by the other.
  void bytes_ping_pong(std::uint64_t rounds, std::size_t length) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      ++sized_;
      if (side_ == 0) {
        write_sized(0, length);
        read_sized(1, length);
      } else {
        read_sized(0, length);
        write_sized(1, length);
      }
    }
  }

  void packet_ping_pong(std::uint64_t rounds, std::size_t length) {
    for (std::uint64_t i = 0; i < rounds; ++i) {
      if (side_ == 0) {
        send_one(length);
        receive_one();
      } else {
        receive_one();
        send_one(length);
      }
    }
  }

  void ring_stream(std::uint64_t messages) { side_ == 0 ? ring_send(messages) : ring_receive(messages); }

  void packet_stream(std::uint64_t messages, std::size_t burst, std::size_t length) {
    side_ == 0 ? stream_send(messages, burst, length) : stream_receive(messages);
  }

  // Cost of calls that move nothing, on one processor; nanoseconds each.
  double empty_receive(std::uint64_t rounds) {
    IncomingPacket packet;
    const double start = seconds();
    for (std::uint64_t i = 0; i < rounds; ++i) static_cast<Transport*>(transport_.get())->receive_burst({&packet, 1});
    return (seconds() - start) / static_cast<double>(rounds) * 1e9;
  }

  // Sends without anyone receiving, `count` <= slots, then lets the other take them.
  double send_cost(std::size_t count) {
    const double start = seconds();
    for (std::size_t i = 0; i < count; ++i) send_one(48);
    return (seconds() - start) / static_cast<double>(count) * 1e9;
  }
  double receive_cost(std::size_t count) {
    const double start = seconds();
    for (std::size_t i = 0; i < count; ++i) receive_one();
    return (seconds() - start) / static_cast<double>(count) * 1e9;
  }

 private:
  void write_sized(int way, std::size_t length) {
    std::memset(floor_.bytes[way], static_cast<int>(sized_), length);
    floor_.size_flag[way].store(sized_, std::memory_order_release);
  }
  void read_sized(int way, std::size_t length) {
    while (floor_.size_flag[way].load(std::memory_order_acquire) != sized_) {
    }
    read_all(floor_.bytes[way], length);
  }

  // Reads every byte; the empty asm keeps the compiler from leaving that out.
  static void read_all(const std::byte* data, std::size_t length) {
    std::uint64_t total = 0;
    for (std::size_t i = 0; i + 8 <= length; i += 8) {
      std::uint64_t word;
      std::memcpy(&word, data + i, 8);
      total += word;
    }
    asm volatile("" : : "r"(total));
  }

  // As the engine does it: a header and the user's bytes, two pieces.
  void send_one(std::size_t length) {
    if (length > 48) std::memset(payload_, static_cast<int>(++sized_), length - 40);
    const ConstBuffer pieces[] = {{header_, 40}, {payload_, length - 40}};
    const OutgoingPacket packet{pieces, static_cast<std::uint32_t>(length)};
    Transport* transport = transport_.get();
    while (transport->send_burst(peer_, {&packet, 1}) == 0) {
    }
  }

  void receive_one() {
    Transport* transport = transport_.get();
    const ArrivalWatch* watch = transport_.get();
    IncomingPacket packet;
    while (transport->receive_burst({&packet, 1}) == 0) pause_before_poll(watch->arrival_word());
    read_all(packet.data, packet.length);
    transport->release(1);
  }

  void ring_send(std::uint64_t messages) {
    for (std::uint64_t i = 0; i < messages; ++i) {
      const std::uint64_t ticket = ring_next_++;
      while (ticket - ring_cached_ >= kRingSlots) ring_cached_ = floor_.ring_head.load(std::memory_order_acquire);
      RingSlot& slot = floor_.ring[ticket % kRingSlots];
      std::memcpy(slot.data, header_, 48);
      slot.sequence.store(ticket + 1, std::memory_order_release);
    }
  }
  void ring_receive(std::uint64_t messages) {
    for (std::uint64_t i = 0; i < messages; ++i) {
      const std::uint64_t ticket = ring_next_++;
      RingSlot& slot = floor_.ring[ticket % kRingSlots];
      while (slot.sequence.load(std::memory_order_acquire) != ticket + 1) {
      }
      read_all(slot.data, 48);
      if (ring_next_ % (kRingSlots / 4) == 0) floor_.ring_head.store(ring_next_, std::memory_order_release);
    }
    floor_.ring_head.store(ring_next_, std::memory_order_release);
  }

  void stream_send(std::uint64_t messages, std::size_t burst, std::size_t length) {
    Transport* transport = transport_.get();
    const ConstBuffer pieces[] = {{header_, 40}, {payload_, length - 40}};
    std::vector<OutgoingPacket> packets(burst, OutgoingPacket{pieces, static_cast<std::uint32_t>(length)});
    while (messages != 0) {
      const std::size_t offered = std::min<std::size_t>(burst, messages);
      messages -= transport->send_burst(peer_, {packets.data(), offered});
    }
  }
  void stream_receive(std::uint64_t messages) {
    Transport* transport = transport_.get();
    IncomingPacket packets[32];
    while (messages != 0) {
      const std::size_t count = transport->receive_burst(packets);
      for (std::size_t i = 0; i < count; ++i) read_all(packets[i].data, packets[i].length);
      if (count != 0) transport->release(count);
      messages -= count;
    }
  }

  Floor& floor_;
  const int side_;
  const PeerIndex peer_;
  std::unique_ptr<ShmTransport> transport_;
  double setup_ = 0;
  std::uint64_t meetings_ = 0;
  std::uint64_t flag_base_ = 0;
  std::uint64_t sized_ = 0;
  std::uint64_t ring_next_ = 0;
  std::uint64_t ring_cached_ = 0;
  std::byte header_[64] = {};
  std::byte payload_[32768] = {};
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

class Bench {
 public:
  Bench(Floor& floor, int side, std::uint64_t cookie, std::uint64_t rounds, int repetitions)
      : side_(side), rounds_(rounds), repetitions_(repetitions), tasks_(floor, side, cookie) {}

  void run() {
    const std::uint64_t n = rounds_;
    say("set-up of 2 tasks", {{tasks_.setup() * 1e6}}, "us");
    compare(
        "half round trip 48 B, ns", 2 * n, [&] { tasks_.flag_ping_pong(n); }, [&] { tasks_.packet_ping_pong(n, 48); });
    compare(
        "half round trip 1 KiB, ns", 2 * n, [&] { tasks_.bytes_ping_pong(n, 1024); },
        [&] { tasks_.packet_ping_pong(n, 1024 + 40); });
    compare(
        "half round trip 8 KiB, ns", 2 * n, [&] { tasks_.bytes_ping_pong(n, 8192); },
        [&] { tasks_.packet_ping_pong(n, 8192 + 40); });
    compare(
        "stream 48 B one by one, ns each", 20 * n, [&] { tasks_.ring_stream(20 * n); },
        [&] { tasks_.packet_stream(20 * n, 1, 48); });
    compare(
        "stream 48 B in bursts of 16, ns each", 20 * n, [&] { tasks_.ring_stream(20 * n); },
        [&] { tasks_.packet_stream(20 * n, 16, 48); });
    costs();
  }

 private:
  using Samples = std::vector<double>;

  void say(const char* what, const Samples& samples, const char* unit) {
    if (side_ == 0) std::printf("%-40s %8.2f %s\n", what, median(samples), unit);
  }

  double timed(std::uint64_t divisor, const std::function<void()>& work) {
    tasks_.meet();
    const double start = seconds();
    work();
    tasks_.meet();
    return (seconds() - start) / static_cast<double>(divisor) * 1e9;
  }

  // Floor and library alternate; the ratio is the median of the ratios of neighbours.
  void compare(const char* what, std::uint64_t divisor, const std::function<void()>& floor,
               const std::function<void()>& library) {
    Samples floors, libraries, ratios, differences;
    for (int i = 0; i < repetitions_; ++i) {
      floors.push_back(timed(divisor, floor));
      libraries.push_back(timed(divisor, library));
      ratios.push_back(libraries.back() / floors.back());
      differences.push_back(libraries.back() - floors.back());
    }
    if (side_ != 0) return;
    std::printf("%-40s floor %8.1f  shm %8.1f  ratio %5.2f  more %+7.1f  (best floor %.1f shm %.1f)\n", what,
                median(floors), median(libraries), median(ratios), median(differences),
                *std::min_element(floors.begin(), floors.end()), *std::min_element(libraries.begin(), libraries.end()));
  }

  void costs() {
    Samples empty, send, receive;
    for (int i = 0; i < repetitions_; ++i) {
      tasks_.meet();
      if (side_ == 0) send.push_back(tasks_.send_cost(64));
      tasks_.meet();
      if (side_ == 1) receive.push_back(tasks_.receive_cost(64));
      tasks_.meet();
      if (side_ == 0) empty.push_back(tasks_.empty_receive(10'000));
    }
    say("send of one 48 B packet", send, "ns");
    say("receive that finds nothing", empty, "ns");
    tasks_.meet();
    if (side_ == 1) {
      std::printf("%-40s %8.2f ns (with the lines' transfer)\n", "receive and release of one", median(receive));
    }
    tasks_.meet();
  }

  const int side_;
  const std::uint64_t rounds_;
  const int repetitions_;
  Side tasks_;
};

int run(int argc, char** argv) {
  // Short batches: most of them fit a time slice, so the median is undisturbed on a machine that does other work.
  const std::uint64_t rounds = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1'000;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 301;
  void* memory = mmap(nullptr, sizeof(Floor), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED || rounds == 0 || repetitions <= 0) return 1;
  auto* floor = new (memory) Floor{};
  const auto cookie = static_cast<std::uint64_t>(getpid()) << 32 ^ static_cast<std::uint64_t>(seconds() * 1e9);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  pin(child == 0 ? 1 : 0);
  Bench(*floor, child == 0 ? 1 : 0, cookie, rounds, repetitions).run();
  if (child == 0) return 0;
  int status = 0;
  waitpid(child, &status, 0);
  return status == 0 ? 0 : 1;
}

}  // namespace
}  // namespace openlapi

int main(int argc, char** argv) { return openlapi::run(argc, argv); }
