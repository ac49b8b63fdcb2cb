// A context's lock, uncontended, beside a pthread mutex: what every LAPI call pays once.
#include <benchmark/benchmark.h>

#include <mutex>

#include "api/lock/context_lock.h"

namespace openlapi {
namespace {

void context_lock(benchmark::State& state) {
  ContextLock lock;
  for (auto _ : state) {
    lock.lock();
    benchmark::ClobberMemory();
    lock.unlock();
  }
}
BENCHMARK(context_lock);

void context_lock_owned(benchmark::State& state) {
  ContextLock lock;
  lock.lock();
  for (auto _ : state) benchmark::DoNotOptimize(lock.owned_by_caller());
  lock.unlock();
}
BENCHMARK(context_lock_owned);

void pthread_mutex(benchmark::State& state) {
  std::mutex mutex;
  for (auto _ : state) {
    mutex.lock();
    benchmark::ClobberMemory();
    mutex.unlock();
  }
}
BENCHMARK(pthread_mutex);

}  // namespace
}  // namespace openlapi

BENCHMARK_MAIN();
