// What an operation costs when many are outstanding: two endpoints in one thread, over shared memory and over UDP on
// loopback. The first begins 1,000 or 50,000 operations of a kind, then both work until the last one is done. Prints
// the processor time of an operation and the ratio of the two, the least of some rounds:
//   calls      begun as calls begin them, which wait for room, so that what is outstanding is bounded
//   handler    begun by a handler, which never waits: all are outstanding together
//   outstanding_bench [rounds]
#include <arpa/inet.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/layout/vector_cursor.h"
#include "nic/udp/udp_transport.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

std::uint64_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

Nanoseconds time_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<Nanoseconds>(now.tv_sec) * kSecond + static_cast<Nanoseconds>(now.tv_nsec);
}

class SystemClock final : public Clock {
 public:
  Nanoseconds now() const override { return time_of(CLOCK_MONOTONIC); }
};

class Host final : public HandlerHost {
 public:
  HeaderVerdict run_header_handler(const ArrivedMessage&) override { return {.delivery = Delivery::bury}; }
  bool run_completion_handler(const CompletionRun&, bool) override { return true; }
  void run_send_handler(const SendCompletion&) override {
    std::exchange(on_send, [] {})();
  }
  void report_fault(Fault, PeerIndex) override { std::abort(); }

  std::function<void()> on_send = [] {};
};

struct Side final : RouteResolver {
  Route resolve(PeerIndex) override {
    Route route;
    route.paths[0] = transport.get();
    route.count = 1;
    return route;
  }
  std::unique_ptr<Transport> transport;
  Host host;
  std::unique_ptr<Endpoint> endpoint;
};

class Pair {
 public:
  explicit Pair(bool over_shm) {
    over_shm ? open_shm() : open_udp();
    for (PeerIndex i = 0; i < 2; ++i) {
      Transport* transport = sides_[i].transport.get();
      sides_[i].endpoint = std::make_unique<Endpoint>(EndpointConfig{.self = i, .tasks = 2, .job_key = {0x5eed, 0}},
                                                      std::span(&transport, 1), clock_, sides_[i], sides_[i].host);
    }
  }
  Endpoint& origin() { return *sides_[0].endpoint; }
  Host& host() { return sides_[0].host; }
  void step() {
    sides_[1].endpoint->progress();
    sides_[0].endpoint->progress();
  }

 private:
  // Each call waits for the other one, so the set-up needs two threads.
  void open_shm() {
    const std::uint64_t cookie = clock_.now();
    const auto join = [this, cookie](PeerIndex self) {
      ShmSetupError error;
      std::unique_ptr<ShmTransport> transport =
          open_shm_transport({.cookie = cookie, .self = self, .local_tasks = {0, 1}}, error);
      std::string reason;
      if (transport == nullptr || !transport->add_peer(1 - self, transport->address_of(1 - self), reason)) std::abort();
      sides_[self].transport = std::move(transport);
    };
    std::thread second(join, 1);
    join(0);
    second.join();
  }
  void open_udp() {
    for (Side& side : sides_) {
      UdpConfig config;
      config.address.s_addr = htonl(INADDR_LOOPBACK);
      UdpSetupError error;
      side.transport = open_udp_transport(config, error);
      if (side.transport == nullptr) std::abort();
    }
    for (PeerIndex i = 0; i < 2; ++i) {
      std::string error;
      if (!sides_[i].transport->add_peer(1 - i, sides_[1 - i].transport->local_address(), error)) std::abort();
    }
  }

  SystemClock clock_;
  Side sides_[2];
};

// Both sides' memory, and the counter that the last operation moves.
struct Memory {
  std::vector<unsigned char> here = std::vector<unsigned char>(64 * 1024);
  std::vector<unsigned char> there = std::vector<unsigned char>(64 * 1024);
  int done = 0;
};

using Begin = std::function<Submit(Endpoint&, Memory&)>;

struct Kind {
  const char* name;
  Begin begin;
};

Submit put(Endpoint& origin, Memory& memory, std::size_t length) {
  return origin.put({1, address(memory.there.data()), memory.here.data(), length, address(&memory.done), 0, 0});
}
Submit get(Endpoint& origin, Memory& memory, std::size_t length) {
  return origin.get({1, address(memory.there.data()), memory.here.data(), length, 0, address(&memory.done)});
}
Submit message(Endpoint& origin, Memory& memory, std::size_t length) {
  return origin.active_message({1, 1, nullptr, 0, memory.here.data(), length, address(&memory.done), 0, 0});
}
Submit add(Endpoint& origin, Memory& memory) {
  return origin.read_modify_write({1, wire::RmwOperation::fetch_and_add, 8, address(memory.there.data()), 1, 0,
                                   memory.here.data(), address(&memory.done)});
}
Submit put_vector(Endpoint& origin, Memory& memory, std::uint64_t block, std::uint64_t blocks) {
  std::vector<LayoutPiece> here, there;
  for (std::uint64_t i = 0; i < blocks; ++i) {
    here.push_back({address(memory.here.data() + i * (block + 8)), block});
    there.push_back({address(memory.there.data() + i * (block + 16)), block});
  }
  ListCursor source(PieceList::of_pieces(here.data(), blocks)), to(PieceList::of_pieces(there.data(), blocks));
  return origin.put_layout({1, &source, &to, address(&memory.done), 0, 0});
}

const Kind kKinds[] = {
    {"put, 8 bytes", [](Endpoint& origin, Memory& memory) { return put(origin, memory, 8); }},
    {"put, 20,000 bytes", [](Endpoint& origin, Memory& memory) { return put(origin, memory, 20'000); }},
    {"get, 8 bytes", [](Endpoint& origin, Memory& memory) { return get(origin, memory, 8); }},
    {"get, 20,000 bytes", [](Endpoint& origin, Memory& memory) { return get(origin, memory, 20'000); }},
    {"read-modify-write", add},
    {"message, 8 bytes", [](Endpoint& origin, Memory& memory) { return message(origin, memory, 8); }},
    {"message, 20,000 bytes", [](Endpoint& origin, Memory& memory) { return message(origin, memory, 20'000); }},
    {"vector, 8 x 16 bytes", [](Endpoint& origin, Memory& memory) { return put_vector(origin, memory, 16, 8); }},
    {"vector, 20 x 1,000 bytes", [](Endpoint& origin, Memory& memory) { return put_vector(origin, memory, 1000, 20); }},
};

// Processor time of one operation, ns.
double measure(bool over_shm, const Begin& begin, int operations, bool in_handler) {
  Pair pair(over_shm);
  Memory memory;
  while (begin(pair.origin(), memory) != Submit::accepted) pair.step();
  while (memory.done != 1) pair.step();
  const Nanoseconds first = time_of(CLOCK_PROCESS_CPUTIME_ID);
  const auto begin_all = [&] {
    for (int n = 0; n < operations; ++n) {
      while (begin(pair.origin(), memory) == Submit::busy) pair.step();
    }
  };
  if (in_handler) {
    pair.host().on_send = begin_all;
    PutRequest to_self{0, address(memory.here.data()), memory.here.data(), 0, 0, 0, 0};
    to_self.send_handler.function = &memory;
    pair.origin().put(to_self);
  } else {
    begin_all();
  }
  while (memory.done != operations + 1) pair.step();
  return static_cast<double>(time_of(CLOCK_PROCESS_CPUTIME_ID) - first) / operations;
}

void report(bool over_shm, const Kind& kind, int rounds) {
  double least[2][2];
  for (auto& row : least) std::fill(row, row + 2, 1e18);
  for (int round = 0; round < rounds; ++round) {
    for (const bool in_handler : {false, true}) {
      for (const bool many : {false, true}) {
        double& best = least[in_handler][many];
        best = std::min(best, measure(over_shm, kind.begin, many ? 50'000 : 1'000, in_handler));
      }
    }
  }
  std::printf("%-14s %-26s %8.0f %8.0f  %5.2f     %8.0f %8.0f  %5.2f\n", over_shm ? "shared memory" : "UDP", kind.name,
              least[0][0], least[0][1], least[0][1] / least[0][0], least[1][0], least[1][1], least[1][1] / least[1][0]);
  std::fflush(stdout);
}

}  // namespace
}  // namespace openlapi

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 5;
  std::printf(
      "ns of processor time per operation          calls: 1,000   50,000  ratio   handler: 1,000   50,000  ratio\n");
  for (const bool over_shm : {true, false}) {
    for (const openlapi::Kind& kind : openlapi::kKinds) openlapi::report(over_shm, kind, rounds);
  }
  return 0;
}
