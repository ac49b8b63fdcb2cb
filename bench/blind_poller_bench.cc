// A dataplane thread whose transport has no descriptor to sleep on (DPDK drivers without a receive interrupt): it
// sleeps by time, ever longer until something arrives. How much of a core that takes while nothing arrives, and how
// late the thread notices what comes after a pause: half of the last sleep on average, so that figure follows the
// pause.
//   blind_poller_bench [seconds]
// Beside it a thread that sleeps for as long each time without any library: the timers' own cost.
#include <time.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <utility>

#include "bench/perf/statistics.h"
#include "dataplane/poller/poller.h"

namespace openlapi::bench {
namespace {

constexpr unsigned kArrivals = 200;

class Engine final : public PolledEngine {
 public:
  void lock() override { mutex_.lock(); }
  void unlock() override { mutex_.unlock(); }
  void hand_over_lock() override {}
  StepOutcome progress(Step) override {
    if (sent.load(std::memory_order_acquire) == handled.load(std::memory_order_relaxed)) return {0, false};
    handled.fetch_add(1, std::memory_order_release);
    return {1, false};
  }
  ArrivalWord arrival_word() override { return {}; }
  void flush() override {}
  bool has_work() override { return false; }
  Nanoseconds deadline() override { return UINT64_MAX; }
  Nanoseconds now() override { return monotonic_nanoseconds(); }
  void thread_begins() override {}
  void thread_ends() override {}

  std::atomic<unsigned> sent{0}, handled{0};

 private:
  std::mutex mutex_;
};

std::uint64_t processor_time(clockid_t whose) {
  timespec time{};
  clock_gettime(whose, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

// Of all threads but this one, in per cent of a core.
template <class Wait>
double others_share(Wait wait) {
  const auto others = [] { return processor_time(CLOCK_PROCESS_CPUTIME_ID) - processor_time(CLOCK_THREAD_CPUTIME_ID); };
  const std::uint64_t before = others();
  const std::uint64_t began = monotonic_nanoseconds();
  wait();
  return 100.0 * static_cast<double>(others() - before) / static_cast<double>(monotonic_nanoseconds() - began);
}

void rest(Nanoseconds length) {
  const timespec time{static_cast<time_t>(length / kSecond), static_cast<long>(length % kSecond)};
  nanosleep(&time, nullptr);
}

double noticed_after(Engine& engine, Nanoseconds pause) {
  Samples late;
  for (unsigned index = 0; index < kArrivals; ++index) {
    rest(pause + index * 7 * kMicrosecond);  // not in step with the sleeps
    const std::uint64_t begin = monotonic_nanoseconds();
    const unsigned number = engine.sent.fetch_add(1, std::memory_order_release) + 1;
    while (engine.handled.load(std::memory_order_acquire) != number) cpu_pause();
    late.push_back(static_cast<double>(monotonic_nanoseconds() - begin));
  }
  return median(late) / 1e3;
}

double bare_share(Nanoseconds seconds) {
  std::atomic<bool> stop{false};
  std::thread sleeper([&] {
    while (!stop.load(std::memory_order_relaxed)) rest(kLongestBlindSleep);
  });
  const double share = others_share([&] { rest(seconds); });
  stop.store(true);
  sleeper.join();
  return share;
}

void measure(Nanoseconds seconds) {
  std::printf("bare       %5.2f %% of a core, sleeps of %llu us\n", bare_share(seconds),
              static_cast<unsigned long long>(kLongestBlindSleep / kMicrosecond));
  for (const auto& [policy, name] : {std::pair{ThreadPolicy::adaptive, "adaptive"}, {ThreadPolicy::sleep, "sleep"}}) {
    Engine engine;
    PollerConfig config;
    config.pacing = {policy, kOwnCoreSpin};
    Poller poller(engine, config, {}, true);
    engine.lock();
    static_cast<void>(poller.set_interrupt_mode(true));
    if (!poller.valid() || poller.start({}) != 0) std::exit(1);
    engine.unlock();
    const double share = others_share([&] { rest(seconds); });
    std::printf(
        "%-10s %5.2f %% of a core; noticed %.0f us after a pause of 0.1 ms, %.0f us after 1 ms, %.0f us after 20 ms\n",
        name, share, noticed_after(engine, 100 * kMicrosecond), noticed_after(engine, kMillisecond),
        noticed_after(engine, 20 * kMillisecond));
    engine.lock();
    poller.request_stop();
    engine.unlock();
    poller.join(kSecond);
  }
}

}  // namespace
}  // namespace openlapi::bench

int main(int count, char** arguments) {
  const int seconds = count > 1 ? std::atoi(arguments[1]) : 5;
  if (seconds < 1) {
    std::fprintf(stderr, "usage: blind_poller_bench [seconds, at least 1]\n");
    return 1;
  }
  openlapi::bench::measure(static_cast<openlapi::Nanoseconds>(seconds) * openlapi::kSecond);
  return 0;
}
