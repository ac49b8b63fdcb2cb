// What the engine itself costs: two endpoints in one thread over the real shared-memory transport, so that no line
// moves between cores, and over packets that a queue in this process carries ("packets_..."): what the engine adds to
// a network. One iteration is a message from the first to the second, delivered and counted; of packets_exchange one
// each way.
#include <benchmark/benchmark.h>
#include <time.h>

#include <memory>
#include <thread>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/wire/packet_tag.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<Nanoseconds>(now.tv_sec) * kSecond + static_cast<Nanoseconds>(now.tv_nsec);
  }
};

class BuryingHost final : public HandlerHost {
 public:
  HeaderVerdict run_header_handler(const ArrivedMessage&) override { return {.delivery = Delivery::bury}; }
  bool run_completion_handler(const CompletionRun&, bool) override { return true; }
  void run_send_handler(const SendCompletion&) override {}
  void report_fault(Fault, PeerIndex) override {}
};

struct Side final : RouteResolver {
  Route resolve(PeerIndex) override {
    Route route;
    route.paths[0] = transport.get();
    route.count = 1;
    return route;
  }
  std::unique_ptr<ShmTransport> transport;
  BuryingHost host;
  std::unique_ptr<Endpoint> endpoint;
};

// An unreliable transport without a network: packets for the only peer lie in a ring until it takes them.
class Queue final : public Transport {
 public:
  std::string_view name() const override { return "queue"; }
  const TransportLimits& limits() const override { return limits_; }
  PeerAddress local_address() const override { return {}; }
  bool add_peer(PeerIndex, const PeerAddress&, std::string&) override { return true; }
  std::size_t send_burst(PeerIndex, std::span<const OutgoingPacket> packets) override {
    for (const OutgoingPacket& packet : packets) {
      Slot& slot = peer->slots_[peer->end_++ % kSlots];
      slot.length = packet.length;
      copy_pieces(slot.bytes, packet.pieces);
    }
    return packets.size();
  }
  std::size_t receive_burst(std::span<IncomingPacket> packets) override {
    std::size_t count = 0;
    for (; next_ != end_ && count < packets.size(); ++count) {
      Slot& slot = slots_[next_++ % kSlots];
      packets[count] = {slot.bytes, slot.length, kUnknownPeer, false, 0};
    }
    return count;
  }
  void release(std::size_t) override {}
  TransportCounters counters() const override { return {}; }

  Queue* peer = nullptr;

 private:
  static constexpr std::size_t kSlots = 1024;  // more than two tasks that wait for each other ever fill
  struct Slot {
    alignas(8) std::byte bytes[4096];
    std::uint32_t length;
  };
  TransportLimits limits_{.max_packet = 4096, .max_burst = 64, .reliable = false, .checked = true};
  std::vector<Slot> slots_{kSlots};
  std::uint64_t next_ = 0, end_ = 0;
};

// Two tasks over such queues.
class PacketPair {
 public:
  explicit PacketPair(bool tags = false) {
    for (PeerIndex i = 0; i < 2; ++i) {
      queues_[i].peer = &queues_[1 - i];
      routes_[i].transport = &queues_[i];
      Transport* transport = &queues_[i];
      endpoints_[i] =
          std::make_unique<Endpoint>(EndpointConfig{.self = i, .tasks = 2, .job_key = {1, 0}, .packet_tags = tags},
                                     std::span(&transport, 1), clock_, routes_[i], hosts_[i]);
    }
  }
  Endpoint& operator[](std::size_t i) { return *endpoints_[i]; }

 private:
  struct OnlyRoute final : RouteResolver {
    Route resolve(PeerIndex) override {
      Route route;
      route.paths[0] = transport;
      route.count = 1;
      return route;
    }
    Transport* transport = nullptr;
  };
  SystemClock clock_;
  Queue queues_[2];
  OnlyRoute routes_[2];
  BuryingHost hosts_[2];
  std::unique_ptr<Endpoint> endpoints_[2];
};

class Pair {
 public:
  Pair() {
    open();
    for (PeerIndex i = 0; i < 2; ++i) {
      std::string error;
      if (!sides_[i].transport->add_peer(1 - i, sides_[i].transport->address_of(1 - i), error)) std::abort();
      Transport* transport = sides_[i].transport.get();
      sides_[i].endpoint = std::make_unique<Endpoint>(EndpointConfig{.self = i, .tasks = 2, .job_key = {1, 0}},
                                                      std::span(&transport, 1), clock_, sides_[i], sides_[i].host);
    }
  }
  Endpoint& operator[](std::size_t i) { return *sides_[i].endpoint; }

  // Until the counter has moved; both endpoints work.
  void run_until(const int& counter, int value) {
    while (__atomic_load_n(&counter, __ATOMIC_ACQUIRE) != value) {
      sides_[0].endpoint->progress();
      sides_[1].endpoint->progress();
    }
  }

 private:
  // Each call waits for the other one, so the set-up needs two threads.
  void open() {
    const auto join = [this](PeerIndex self) {
      ShmSetupError error;
      ShmConfig config{.cookie = cookie_, .self = self, .local_tasks = {0, 1}};
      sides_[self].transport = open_shm_transport(config, error);
      if (!sides_[self].transport) std::abort();
    };
    cookie_ = clock_.now();
    std::thread second(join, 1);
    join(0);
    second.join();
  }

  SystemClock clock_;
  std::uint64_t cookie_ = 0;
  Side sides_[2];
};

std::uint64_t address(const void* memory) { return reinterpret_cast<std::uint64_t>(memory); }

void put(benchmark::State& state) {
  Pair pair;
  const auto length = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> source(length), target(length);
  alignas(64) int counter = 0;
  int value = 0;
  for (auto _ : state) {
    pair[0].put({.target = 1,
                 .target_address = address(target.data()),
                 .data = source.data(),
                 .length = length,
                 .target_counter = address(&counter),
                 .origin_counter = 0,
                 .completion_counter = 0});
    pair.run_until(counter, ++value);
  }
}
BENCHMARK(put)->Arg(8)->Arg(1024)->Arg(8192);

void active_message(benchmark::State& state) {
  Pair pair;
  const auto length = static_cast<std::size_t>(state.range(0));
  std::vector<std::byte> source(length);
  alignas(64) int counter = 0;
  int value = 0;
  for (auto _ : state) {
    pair[0].active_message({.target = 1,
                            .handler = 1,
                            .user_header = nullptr,
                            .user_header_length = 0,
                            .data = source.data(),
                            .length = length,
                            .target_counter = address(&counter),
                            .origin_counter = 0,
                            .completion_counter = 0});
    pair.run_until(counter, ++value);
  }
}
BENCHMARK(active_message)->Arg(8)->Arg(1024)->Arg(8192);

void get(benchmark::State& state) {
  Pair pair;
  long long source = 1, target = 0;
  alignas(64) int counter = 0;
  int value = 0;
  for (auto _ : state) {
    pair[0].get({.target = 1,
                 .target_address = address(&source),
                 .buffer = &target,
                 .length = 8,
                 .target_counter = 0,
                 .origin_counter = address(&counter)});
    pair.run_until(counter, ++value);
  }
}
BENCHMARK(get);

// `counter` null: nobody hears of it.
PutRequest put_of_eight_bytes(PeerIndex target, const long long& from, const long long& to, const int* counter) {
  return {.target = target,
          .target_address = address(&to),
          .data = &from,
          .length = 8,
          .target_counter = address(counter),
          .origin_counter = 0,
          .completion_counter = 0};
}

// A put each way, as tasks do that wait for each other.
void exchange_packets(benchmark::State& state, bool tags) {
  PacketPair pair(tags);
  long long source = 1, target = 0;
  alignas(64) int counter = 0;
  int value = 0;
  for (auto _ : state) {
    for (std::uint32_t task = 0; task < 2; ++task) {
      pair[task].put(put_of_eight_bytes(1 - task, source, target, &counter));
      ++value;
      // At first contact, the sender has to answer before it is heard.
      while (pair[1 - task].progress() == 0 || counter != value) pair[task].progress();
    }
  }
}
void packets_exchange(benchmark::State& state) { exchange_packets(state, false); }
BENCHMARK(packets_exchange);

// OPENLAPI_PACKET_AUTH: four tags for two packets, two made and two checked.
void tagged_packets_exchange(benchmark::State& state) { exchange_packets(state, true); }
BENCHMARK(tagged_packets_exchange);

// One tag of a packet of so many bytes.
void packet_tag(benchmark::State& state) {
  std::vector<std::byte> packet(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(wire::packet_tag({1, 2}, 0, packet, {}));
}
BENCHMARK(packet_tag)->Arg(64)->Arg(1464)->Arg(8184);

// A step that finds nothing: what waiting costs.
void idle_progress(benchmark::State& state) {
  Pair pair;
  for (auto _ : state) benchmark::DoNotOptimize(pair[0].progress());
}
BENCHMARK(idle_progress);

// The same while the peer has not answered yet.
void packets_idle_progress(benchmark::State& state) {
  PacketPair pair;
  long long source = 1, target = 0;
  pair[0].put(put_of_eight_bytes(1, source, target, nullptr));
  for (auto _ : state) benchmark::DoNotOptimize(pair[0].progress());
}
BENCHMARK(packets_idle_progress);

}  // namespace
}  // namespace openlapi

BENCHMARK_MAIN();
