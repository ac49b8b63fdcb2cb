// What the engine itself costs: two endpoints in one thread over the real shared-memory transport, so that no line
// moves between cores, and over packets that a queue in this process carries ("packets_..."): what the engine adds to
// a network. One iteration is a message from the first to the second, delivered and counted; of packets_exchange one
// each way. And what a packet's tag costs, beside what libcrypto asks for the same and for what QUIC does to a packet.
#include <benchmark/benchmark.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
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
  TransportCapabilities capabilities() override { return {}; }
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
BENCHMARK(packet_tag)->Arg(64)->Arg(1400)->Arg(8192);

const std::uint8_t* octets(const std::vector<std::byte>& bytes) {
  return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

// The same function of libcrypto over as many bytes. Its context is kept; it forgets the last message with a new key.
void libcrypto_siphash(benchmark::State& state) {
  const std::vector<std::byte> packet(static_cast<std::size_t>(state.range(0)));
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "SIPHASH", nullptr);
  EVP_MAC_CTX* const context = EVP_MAC_CTX_new(mac);
  std::size_t size = sizeof(std::uint64_t);
  const OSSL_PARAM parameters[] = {OSSL_PARAM_construct_size_t(OSSL_MAC_PARAM_SIZE, &size), OSSL_PARAM_construct_end()};
  EVP_MAC_CTX_set_params(context, parameters);
  const std::uint8_t key[16] = {1, 2};
  std::uint8_t tag[sizeof(std::uint64_t)];
  for (auto _ : state) {
    EVP_MAC_init(context, key, sizeof key, nullptr);
    EVP_MAC_update(context, octets(packet), packet.size());
    if (EVP_MAC_final(context, tag, &size, sizeof tag) != 1) std::abort();
    benchmark::DoNotOptimize(tag);
  }
  EVP_MAC_CTX_free(context);
  EVP_MAC_free(mac);
}
BENCHMARK(libcrypto_siphash)->Arg(64)->Arg(1400)->Arg(8192);

// What QUIC (RFC 9001) does to a packet of so many bytes that leaves: its payload is sealed by AES-128-GCM, with the
// header as what is authenticated only, and one block of AES over a piece of the result hides the packet's number.
class QuicPacket {
 public:
  explicit QuicPacket(std::size_t length) : plain_(length), packet_(length + kTagSize) {
    const std::uint8_t key[16] = {3, 4};
    if (EVP_EncryptInit_ex2(seal_, EVP_aes_128_gcm(), key, nonce_, nullptr) != 1 ||
        EVP_EncryptInit_ex2(hide_, EVP_aes_128_ecb(), key, nullptr, nullptr) != 1) {
      std::abort();
    }
  }
  ~QuicPacket() {
    EVP_CIPHER_CTX_free(seal_);
    EVP_CIPHER_CTX_free(hide_);
  }
  QuicPacket(const QuicPacket&) = delete;
  QuicPacket& operator=(const QuicPacket&) = delete;

  void protect() {
    ++nonce_[sizeof nonce_ - 1];
    std::uint8_t* const out = packet_.data() + kHeader;
    int count = 0, rest = 0;
    const bool sealed = EVP_EncryptInit_ex2(seal_, nullptr, nullptr, nonce_, nullptr) == 1 &&
                        EVP_EncryptUpdate(seal_, nullptr, &count, plain_.data(), kHeader) == 1 &&
                        EVP_EncryptUpdate(seal_, out, &count, plain_.data() + kHeader,
                                          static_cast<int>(plain_.size()) - kHeader) == 1 &&
                        EVP_EncryptFinal_ex(seal_, out + count, &rest) == 1 &&
                        EVP_CIPHER_CTX_ctrl(seal_, EVP_CTRL_AEAD_GET_TAG, kTagSize, out + count) == 1;
    std::uint8_t mask[16];
    if (!sealed || EVP_EncryptUpdate(hide_, mask, &count, out, sizeof mask) != 1) std::abort();
    for (std::size_t i = 0; i < kNumber; ++i)
      packet_[kHeader - kNumber + i] = plain_[kHeader - kNumber + i] ^ mask[i + 1];
    benchmark::DoNotOptimize(packet_.data());
  }

 private:
  static constexpr int kHeader = 24, kTagSize = 16;
  static constexpr std::size_t kNumber = 4;
  EVP_CIPHER_CTX* const seal_ = EVP_CIPHER_CTX_new();
  EVP_CIPHER_CTX* const hide_ = EVP_CIPHER_CTX_new();
  std::uint8_t nonce_[12] = {};
  std::vector<std::uint8_t> plain_, packet_;
};

void quic_packet(benchmark::State& state) {
  QuicPacket packet(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) packet.protect();
}
BENCHMARK(quic_packet)->Arg(64)->Arg(1400)->Arg(8192);

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
