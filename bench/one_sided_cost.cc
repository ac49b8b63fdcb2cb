// What a get of 8 bytes costs over an RDMA adapter: packets on the wire, and instructions of either task, counted by
// valgrind. Two tasks of one process on the devices of the soft-RoCE bed, one get at a time:
//   ninja -C BUILD bench/one_sided_cost
//   tests/beds/soft-roce --timeout 600 -- BUILD/bench/one_sided_cost ud|rc|read 1000
//   tests/beds/soft-roce --timeout 600 -- valgrind --tool=callgrind --callgrind-out-file=/dev/null
//       --toggle-collect='origin_*' BUILD/bench/one_sided_cost ud|rc|read 200                    or 'target_serves'
// "ud", "rc": a message, as datagrams and through connections; "read": RDMA READ without the target. Soft-RoCE pages
// nothing on demand: here it says that it does, and what is registered for it is the word that is read. Each side makes
// one step when something has come for it, so that nothing is counted of steps that only wait.
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>

#include "dataplane/base/monotonic_clock.h"
#include "nic/verbs/verbs_transport.h"
#include "tests/support/address.h"
#include "tests/support/endpoint_pair.h"
#include "tests/support/fixed_route.h"

namespace {

using openlapi::address;

constexpr int kWarmUp = 100;
constexpr int kMostSteps = 1'000'000;
constexpr useconds_t kOneWay = 3000;  // us; far more than it takes

alignas(64) std::uint64_t word_at_target = 1;

int query_device_ex(ibv_context*, const ibv_query_device_ex_input*, ibv_device_attr_ex* attributes, std::size_t) {
  *attributes = {};
  attributes->odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  attributes->odp_caps.per_transport_caps.rc_odp_caps = IBV_ODP_SUPPORT_READ;
  return 0;
}

struct Tasks {
  std::array<std::unique_ptr<openlapi::VerbsTransport>, 2> transports;
  std::array<openlapi::FixedRoute, 2> routes;
  std::array<openlapi::ScriptedHost, 2> hosts;
  std::array<std::unique_ptr<openlapi::Endpoint>, 2> endpoints;
  openlapi::MonotonicClock clock;
  std::uint64_t got = 0;
  int counter = 0;
};

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "one_sided_cost: %s\n", what.c_str());
  std::exit(1);
}

void open(Tasks& tasks, const std::string& way) {
  openlapi::EndpointConfig config;
  config.tasks = 2;
  config.job_key = {0x1234, 0};
  for (openlapi::PeerIndex i = 0; i < 2; ++i) {
    openlapi::VerbsConfig verbs;
    verbs.port.device = "rxe" + std::to_string(i);
    verbs.bulk = true;
    verbs.connections = way == "rc";
    verbs.connection_limits.packets_before_asking = 1;
    verbs.one_sided = way == "read";
    verbs.short_read_limits.gets_before_asking = 1;
    openlapi::VerbsSetupError error;
    tasks.transports[i] = openlapi::open_verbs_transport(verbs, error);
    if (tasks.transports[i] == nullptr) fail(error.text);
  }
  for (openlapi::PeerIndex i = 0; i < 2; ++i) {
    std::string error;
    if (!tasks.transports[i]->add_peer(1 - i, tasks.transports[1 - i]->local_address(), error)) fail(error);
    config.self = i;
    openlapi::Transport* transport = tasks.routes[i].transport = tasks.transports[i].get();
    tasks.endpoints[i] = std::make_unique<openlapi::Endpoint>(config, std::span(&transport, 1), tasks.clock,
                                                              tasks.routes[i], tasks.hosts[i]);
  }
}

long packets() {
  long sum = 0;
  for (const char* which : {"rx_packets", "tx_packets"}) {
    long number = 0;
    std::ifstream(std::string("/sys/class/net/rdma0/statistics/") + which) >> number;
    sum += number;
  }
  return sum;
}

}  // namespace

#undef ibv_reg_mr

extern "C" {

ibv_context* ibv_open_device(ibv_device* device) {
  static const auto own =
      reinterpret_cast<decltype(&ibv_open_device)>(dlvsym(RTLD_NEXT, "ibv_open_device", "IBVERBS_1.1"));
  ibv_context* const context = own(device);
  if (context != nullptr) verbs_get_ctx(context)->query_device_ex = query_device_ex;
  return context;
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* begin, std::size_t length, int rights) {
  static const auto own =
      reinterpret_cast<ibv_mr* (*)(ibv_pd*, void*, std::size_t, int)>(dlvsym(RTLD_NEXT, "ibv_reg_mr", "IBVERBS_1.1"));
  if (begin != nullptr) return own(domain, begin, length, rights);
  return own(domain, &word_at_target, sizeof word_at_target, rights & ~static_cast<int>(IBV_ACCESS_ON_DEMAND));
}

[[gnu::noinline]] void origin_begins(Tasks& tasks) {
  tasks.endpoints[0]->get({1, address(&word_at_target), &tasks.got, 8, 0, address(&tasks.counter)});
  tasks.endpoints[0]->progress(openlapi::Step::first);
}
[[gnu::noinline]] void target_serves(Tasks& tasks) { tasks.endpoints[1]->progress(openlapi::Step::first); }
[[gnu::noinline]] void origin_ends(Tasks& tasks) { tasks.endpoints[0]->progress(openlapi::Step::first); }

}  // extern "C"

int main(int count, char** words) {
  const std::string way = count == 3 ? words[1] : "";
  const int gets = count == 3 ? std::atoi(words[2]) : 0;
  if ((way != "ud" && way != "rc" && way != "read") || gets <= 0) {
    std::fputs("one_sided_cost ud|rc|read GETS\n", stderr);
    return 2;
  }
  Tasks tasks;
  open(tasks, way);
  for (int i = 0; i < kWarmUp; ++i) {
    const int before = tasks.counter;
    tasks.endpoints[0]->get({1, address(&word_at_target), &tasks.got, 8, 0, address(&tasks.counter)});
    for (int step = 0; tasks.counter == before; ++step) {
      if (step == kMostSteps) fail("a get does not end");
      for (auto& endpoint : tasks.endpoints) endpoint->progress();
    }
  }
  usleep(100 * kOneWay);
  for (auto& endpoint : tasks.endpoints) endpoint->progress();
  const long before = packets();
  const int had = tasks.counter;
  for (int i = 0; i < gets; ++i) {
    ++word_at_target;
    origin_begins(tasks);
    usleep(kOneWay);
    if (way != "read") {
      target_serves(tasks);
      usleep(kOneWay);
    }
    origin_ends(tasks);
    if (tasks.got != word_at_target || tasks.counter != had + i + 1) fail("get " + std::to_string(i) + " has not come");
  }
  std::printf("%s: %.2f packets for each get\n", way.c_str(), static_cast<double>(packets() - before) / gets);
  return 0;
}
