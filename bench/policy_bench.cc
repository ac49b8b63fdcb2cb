// What the policies of the dataplane thread cost and gain (OPENLAPI_THREAD_POLICY): how long a put of 8 bytes with its
// completion counter takes to a target whose program sleeps, or computes, and how much processor time the target's
// thread uses for it, and for nothing.
//   LAPI_USE_SHM=only|no lapirun [--bind none] -n 2 policy_bench [rounds [load]]
// `load`: processes that compute all the time on the target's processors, as further tasks would.
//
// bare is the same without the library: a thread in poll() on a socket (a Unix datagram socket for shared memory, a UDP
// socket otherwise) that answers by a flag in shared memory, or a datagram, while the program's thread sleeps or
// computes. Each round takes all kinds in turn; a ratio is the median of what the rounds give. "pause" puts come 0.1 ms
// after the thread has fallen asleep (spin: after the last one), "stream" puts one after the other.
//
// The last line is the change of the mode, inside one task: from LAPI_Senv(INTERRUPT_SET, 1) until the thread runs the
// header handler of a message that waits, beside an eventfd that wakes a thread, until that runs; and the pair of
// calls, on and off.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "api/include/lapi.h"
#include "bench/perf/shared_region.h"
#include "bench/perf/statistics.h"
#include "bench/perf/udp_sockets.h"
#include "bench/perf/wake_floor.h"

namespace openlapi::bench {
namespace {

constexpr unsigned kPuts = 100;                  // of each kind in each round
constexpr unsigned kIdleMicroseconds = 300'000;  // in each round
constexpr std::uint64_t kPause = 100'000;        // ns, before each put that does not follow the last one at once
constexpr unsigned kAsleep = 20;                 // ms to wait for its sleep at most

[[noreturn]] void give_up(const char* what) {
  std::fprintf(stderr, "policy_bench: %s\n", what);
  std::exit(1);
}

void call(int code, const char* what) {
  if (code != LAPI_SUCCESS) give_up(what);
}

// Processor time in nanoseconds of all threads but the calling one.
double others_time() {
  const auto used = [](clockid_t whose) {
    timespec time{};
    clock_gettime(whose, &time);
    return 1e9 * static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec);
  };
  return used(CLOCK_PROCESS_CPUTIME_ID) - used(CLOCK_THREAD_CPUTIME_ID);
}

// Long enough for a core whose last thread fell asleep to become idle.
void pause() {
  const std::uint64_t until = monotonic_nanoseconds() + kPause;
  spin_until([&] { return monotonic_nanoseconds() >= until; });
}

// Where a datagram finds a task's thread.
class Doorbell {
 public:
  explicit Doorbell(SharedRegion& region, bool udp) : sockets_(region), udp_(udp) {
    std::string error;
    if (udp && !sockets_.open(error)) give_up(error.c_str());
    if (udp) return;
    unix_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const sockaddr_un own = name_of(getpid());
    if (bind(unix_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) give_up("no Unix socket");
    const sockaddr_un other = name_of(static_cast<pid_t>(region.exchange(static_cast<std::uint64_t>(getpid()))));
    if (connect(unix_, reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0) give_up("not connected");
  }
  int descriptor() const { return udp_ ? sockets_.descriptor() : unix_; }
  bool udp() const { return udp_; }

 private:
  static sockaddr_un name_of(pid_t process) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::snprintf(name.sun_path + 1, sizeof name.sun_path - 1, "policy_bench.%d", static_cast<int>(process));
    return name;
  }

  UdpSockets sockets_;
  bool udp_;
  int unix_ = -1;
};

// The target's side without the library.
void serve_bare(const Doorbell& bell, SharedRegion& region) {
  std::uint64_t answers = 0;
  for (char byte = 0; byte != 'q';) {
    pollfd wanted{bell.descriptor(), POLLIN, 0};
    poll(&wanted, 1, -1);
    if (recv(bell.descriptor(), &byte, 1, 0) != 1) continue;
    if (bell.udp()) {
      send(bell.descriptor(), &byte, 1, 0);
    } else {
      region->woken.value.store(++answers, std::memory_order_release);
    }
  }
}

class BareOrigin {
 public:
  BareOrigin(const Doorbell& bell, SharedRegion& region) : bell_(bell), region_(region) {}
  void ask(char byte = 'p') {
    send(bell_.descriptor(), &byte, 1, 0);
    ++asked_;
    if (bell_.udp()) {
      spin_until([&] { return recv(bell_.descriptor(), &byte, 1, 0) == 1; });
    } else {
      spin_until([&] { return region_->woken.value.load(std::memory_order_acquire) == asked_; });
    }
  }

 private:
  const Doorbell& bell_;
  SharedRegion& region_;
  std::uint64_t asked_ = 0;
};

// A context under one policy, and puts to task 1.
class Context {
 public:
  explicit Context(const char* policy) {
    setenv("OPENLAPI_THREAD_POLICY", policy, 1);
    lapi_info_t info;
    std::memset(&info, 0, sizeof info);
    call(LAPI_Init(&handle_, &info), "LAPI_Init failed; start it with lapirun -n 2");
    call(LAPI_Qenv(handle_, TASK_ID, &task_), "LAPI_Qenv failed");
    call(LAPI_Address_init(handle_, &word_, words_.data()), "LAPI_Address_init failed");
  }
  ~Context() {
    LAPI_Gfence(handle_);
    LAPI_Term(handle_);
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  lapi_handle_t handle() const { return handle_; }
  int task() const { return task_; }
  void fence() { call(LAPI_Gfence(handle_), "LAPI_Gfence failed"); }
  void put() {
    long long value = 1;
    call(LAPI_Put(handle_, 1, sizeof value, words_[1], &value, nullptr, nullptr, &completed_), "LAPI_Put failed");
    call(LAPI_Waitcntr(handle_, &completed_, 1, nullptr), "LAPI_Waitcntr failed");
  }

 private:
  lapi_handle_t handle_ = 0;
  int task_ = 0;
  long long word_ = 0;
  lapi_cntr_t completed_{};
  std::array<void*, 2> words_{};
};

struct Costs {
  double latency = 0;  // ns, median
  double time = 0;     // ns of the target's thread for each put
};

struct Outcome {
  Costs pause, stream;
  double idle = 0;  // share of a core
};

enum class Away { sleeping, computing };

class Bench {
 public:
  Bench(SharedRegion& region, bool udp) : region_(region), bell_(region, udp), sleeper_(region) {
    peer_ = static_cast<pid_t>(region_.exchange(static_cast<std::uint64_t>(getpid())));
  }

  Outcome with_library(Context& context, Away away, bool sleeps) {
    context.fence();
    return both_sides(away, sleeps, [&] { context.put(); });
  }

  Outcome bare(Away away) {
    if (region_.side() == 1) {
      region_->woken.value.store(0);
      std::thread server([this] { serve_bare(bell_, region_); });
      const Outcome outcome = both_sides(away, true, [] {});
      server.join();
      return outcome;
    }
    BareOrigin origin(bell_, region_);
    const Outcome outcome = both_sides(away, true, [&] { origin.ask(); });
    origin.ask('q');
    return outcome;
  }

 private:
  template <class Put>
  Outcome both_sides(Away away, bool sleeps, Put put) {
    Outcome outcome;
    outcome.pause = one_phase(away, [&] {
      Samples samples;
      for (unsigned index = 0; index < kPuts; ++index) {
        if (sleeps) wait_until_asleep(peer_, peer_, kAsleep);
        pause();
        time_batches(1, 1, 1, &samples, put);
      }
      return median(samples);
    });
    outcome.stream = one_phase(away, [&] {
      Samples samples;
      time_batches(kPuts, 1, 1, &samples, put);
      return median(samples);
    });
    const Costs idle = one_phase(away, [&] {
      usleep(kIdleMicroseconds);
      return 0.0;
    });
    outcome.idle = idle.time * kPuts / (1e3 * kIdleMicroseconds);
    return outcome;
  }

  // Task 0 measures while task 1's program is away.
  template <class Measure>
  Costs one_phase(Away away, Measure measure) {
    Costs costs;
    if (region_.side() == 0) {
      sleeper_.begin();
      costs.latency = measure();
      sleeper_.wake();
      costs.time = static_cast<double>(region_.exchange(0)) / kPuts;
      return costs;
    }
    const double before = others_time();
    if (away == Away::sleeping) {
      sleeper_.sleep();
    } else {
      compute();
    }
    region_.exchange(static_cast<std::uint64_t>(std::max(0.0, others_time() - before)));
    return costs;
  }

  void compute() {
    const std::uint64_t before = region_->sleeper.value.load();
    sleeper_.begin();
    volatile double sink = 1;
    while (region_->sleeper.value.load(std::memory_order_relaxed) == before) sink = sink * 1.0000001 + 1;
    region_.barrier();
  }

  SharedRegion& region_;
  Doorbell bell_;
  Sleeper sleeper_;
  pid_t peer_ = 0;
};

struct Kind {
  const char* policy;
  bool sleeps;
};
constexpr Kind kKinds[] = {{"adaptive", true}, {"sleep", true}, {"spin", false}};

// Of all rounds of one kind.
struct Rounds {
  Samples pause, stream, pause_ratio, stream_ratio, pause_time, stream_time, idle;

  void add(const Outcome& outcome, const Outcome& floor) {
    pause.push_back(outcome.pause.latency);
    stream.push_back(outcome.stream.latency);
    pause_ratio.push_back(outcome.pause.latency / floor.pause.latency);
    stream_ratio.push_back(outcome.stream.latency / floor.stream.latency);
    pause_time.push_back(outcome.pause.time);
    stream_time.push_back(outcome.stream.time);
    idle.push_back(outcome.idle);
  }
  void print(const char* away, const char* name) const {
    std::printf("%-10s %-9s %8.1f us %6.2f %8.1f us %8.1f us %6.2f %8.1f us %8.2f %%\n", away, name,
                median(pause) / 1e3, median(pause_ratio), median(pause_time) / 1e3, median(stream) / 1e3,
                median(stream_ratio), median(stream_time) / 1e3, 100 * median(idle));
  }
};

void measure_policies(Bench& bench, int task, unsigned rounds) {
  if (task == 0) {
    std::printf("%-10s %-9s %11s %6s %11s %11s %6s %11s %10s\n", "target", "policy", "pause", "ratio", "CPU", "stream",
                "ratio", "CPU", "idle CPU");
  }
  for (const Away away : {Away::sleeping, Away::computing}) {
    Rounds floors;
    std::array<Rounds, std::size(kKinds)> library;
    for (unsigned round = 0; round < rounds; ++round) {
      for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) {
        const Outcome floor = bench.bare(away);
        Context context(kKinds[kind].policy);
        floors.add(floor, floor);
        library[kind].add(bench.with_library(context, away, kKinds[kind].sleeps), floor);
      }
    }
    if (task != 0) continue;
    const char* name = away == Away::sleeping ? "asleep" : "computing";
    floors.print(name, "bare");
    for (std::size_t kind = 0; kind < std::size(kKinds); ++kind) library[kind].print(name, kKinds[kind].policy);
  }
}

// When the thread that somebody waits for has come to run. Whoever waits may see it later: the thread may have its
// core.
std::atomic<std::uint64_t> ran_at{0};

double time_until_it_ran(std::uint64_t begin) {
  spin_until([] { return ran_at.load() != 0; });
  return static_cast<double>(ran_at.exchange(0) - begin);
}

Samples eventfd_wake_ups(unsigned count) {
  const int bell = eventfd(0, EFD_CLOEXEC);
  std::thread sleeper([&] {
    for (unsigned index = 0; index <= count; ++index) {
      pollfd wanted{bell, POLLIN, 0};
      poll(&wanted, 1, -1);
      ran_at.store(monotonic_nanoseconds());
      eventfd_t value;
      eventfd_read(bell, &value);
    }
  });
  Samples samples;
  for (unsigned index = 0; index <= count; ++index) {
    wait_until_asleep(getpid(), gettid(), kAsleep);
    const std::uint64_t begin = monotonic_nanoseconds();
    eventfd_write(bell, 1);
    const double took = time_until_it_ran(begin);
    if (index != count) samples.push_back(took);
  }
  sleeper.join();
  close(bell);
  return samples;
}

std::atomic<int> handled{0};

void* note_message(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  ran_at.store(monotonic_nanoseconds());
  ++handled;
  return nullptr;
}

// A message waits before the mode changes, and only the thread can take it.
void measure_switch(SharedRegion& region, unsigned rounds) {
  Context context("adaptive");
  const lapi_handle_t handle = context.handle();
  call(LAPI_Addr_set(handle, reinterpret_cast<void*>(&note_message), 1), "LAPI_Addr_set failed");
  Samples bare, served, calls, ratio;
  int sent = 0;
  for (unsigned round = 0; round < rounds; ++round) {
    const Samples floor = eventfd_wake_ups(kPuts);
    Samples now;
    for (unsigned index = 0; index < kPuts; ++index) {
      call(LAPI_Senv(handle, INTERRUPT_SET, 0), "LAPI_Senv failed");
      context.fence();
      ++sent;
      if (context.task() == 0) {
        call(LAPI_Amsend(handle, 1, reinterpret_cast<void*>(1), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
             "LAPI_Amsend failed");
        region.barrier();
        context.fence();
        continue;
      }
      region.barrier();
      wait_until_asleep(getpid(), gettid(), kAsleep);
      if (handled.load() < sent) {
        const std::uint64_t begin = monotonic_nanoseconds();
        call(LAPI_Senv(handle, INTERRUPT_SET, 1), "LAPI_Senv failed");
        now.push_back(time_until_it_ran(begin));
      }
      ran_at.store(0);
      context.fence();
    }
    if (context.task() == 0) continue;
    time_batches(kPuts, 1, 1, &calls, [&] {
      LAPI_Senv(handle, INTERRUPT_SET, 1);
      LAPI_Senv(handle, INTERRUPT_SET, 0);
    });
    bare.insert(bare.end(), floor.begin(), floor.end());
    served.insert(served.end(), now.begin(), now.end());
    ratio.push_back(median(now) / median(floor));
  }
  if (context.task() == 0) return;
  std::printf(
      "\npolling to interrupt mode, first message taken: %.1f us, eventfd %.1f us, ratio %.2f; on and off %.1f us\n",
      median(served) / 1e3, median(bare) / 1e3, median(ratio), median(calls) / 1e3);
  std::fflush(stdout);
}

std::vector<pid_t> start_load(int processes) {
  std::vector<pid_t> load;
  for (int index = 0; index < processes; ++index) {
    const pid_t child = fork();
    if (child != 0) {
      load.push_back(child);
      continue;
    }
    volatile double sink = 1;
    while (getppid() != 1) {
      for (int step = 0; step < 1'000'000; ++step) sink = sink * 1.0000001 + 1;
    }
    _exit(0);
  }
  return load;
}

int run(unsigned rounds, int processes) {
  SharedRegion region;
  int task = 0;
  bool shares_memory = false;
  {
    Context context("adaptive");
    task = context.task();
    int shared = 0;
    std::string error;
    call(LAPI_Qenv(context.handle(), QUERY_SHM_ENABLED, &shared), "LAPI_Qenv failed");
    shares_memory = shared != 0;
    if (task == 0 && !region.create(error)) give_up(error.c_str());
    std::array<lapi_long_t, 2> tickets{};
    call(LAPI_Address_init64(context.handle(), static_cast<lapi_long_t>(task == 0 ? region.ticket() : 0),
                             tickets.data()),
         "LAPI_Address_init64 failed");
    if (task == 1 && !region.open(static_cast<std::uint64_t>(tickets[0]), error)) give_up(error.c_str());
    region.barrier();
  }
  Bench bench(region, !shares_memory);
  const std::vector<pid_t> load = task == 1 ? start_load(processes) : std::vector<pid_t>();
  measure_policies(bench, task, rounds);
  std::fflush(stdout);
  region.barrier();
  for (const pid_t child : load) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
  region.barrier();
  measure_switch(region, rounds);
  return 0;
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 11;
  const int load = count > 2 ? std::atoi(arguments[2]) : 0;
  if (rounds < 1 || load < 0 || count > 3) {
    std::fprintf(stderr, "usage: lapirun -n 2 policy_bench [rounds, at least 1 [load, at least 0]]\n");
    return 1;
  }
  return openlapi::bench::run(static_cast<unsigned>(rounds), load);
}
