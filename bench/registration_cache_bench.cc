// What it costs to find registered memory again, with a registrar that registers nothing: the cache alone, and with the
// question to the kernel whether another thread is changing memory.
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "nic/verbs/registration_cache.h"

namespace openlapi::verbs {
namespace {

class NoRegistrar final : public Registrar {
 public:
  Outcome add(std::uint64_t, std::uint64_t, bool, Region&) override { return Outcome::done; }
  void remove(const Region&) override {}
};

// `entries` pieces of memory, each with its own entry, the process's monitor.
struct Setting {
  static constexpr std::size_t kPiece = 32 << 10;
  explicit Setting(std::size_t entries) : bytes(entries * kPiece) {
    memory = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (memory == MAP_FAILED) std::abort();
    for (std::size_t i = 0; i < entries; ++i) cache.release(*cache.acquire(memory + i * kPiece, kPiece / 2, true));
  }
  ~Setting() { munmap(memory, bytes); }

  std::size_t bytes;
  char* memory;
  NoRegistrar registrar;
  std::string reason;
  std::shared_ptr<MemoryMonitor> monitor = process_memory_monitor(reason);
  RegistrationCache cache{registrar, monitor.get(), {}};
};

template <typename Acquire>
void run(benchmark::State& state, Acquire acquire) {
  const auto entries = static_cast<std::size_t>(state.range(0));
  Setting setting(entries);
  if (!setting.monitor) return state.SkipWithError(setting.reason.c_str());
  const std::uint64_t misses = setting.cache.counters().misses;
  std::size_t next = 0;
  for (auto _ : state) {
    RegistrationCache::Entry* const entry = acquire(setting.cache, setting.memory + next * Setting::kPiece + 100, 8192);
    benchmark::DoNotOptimize(entry);
    setting.cache.release(*entry);
    next = (next + 7919) % entries;
  }
  if (setting.cache.counters().misses != misses) state.SkipWithError("not everything was a hit");
}

void hit(benchmark::State& state) {
  run(state, [](RegistrationCache& cache, const void* address, std::size_t length) {
    return cache.acquire(address, length, true);
  });
}
BENCHMARK(hit)->Arg(1)->Arg(16)->Arg(256)->Arg(1024);

void hit_and_ask_the_kernel(benchmark::State& state) {
  run(state, [](RegistrationCache& cache, const void* address, std::size_t length) {
    return cache.acquire_current(address, length, true);
  });
}
BENCHMARK(hit_and_ask_the_kernel)->Arg(16);

}  // namespace
}  // namespace openlapi::verbs

BENCHMARK_MAIN();
