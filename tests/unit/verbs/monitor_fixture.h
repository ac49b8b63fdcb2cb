// The process's monitor with a cache upon it whose registrar registers nothing.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <string>

#include "dataplane/base/process_maps.h"
#include "nic/verbs/memory_monitor.h"
#include "nic/verbs/registration_cache.h"

namespace openlapi::verbs {

class CountingRegistrar final : public Registrar {
 public:
  Outcome add(std::uint64_t, std::uint64_t, bool, Region& region) override {
    region.local_key = ++made;
    return Outcome::done;
  }
  void remove(const Region&) override { ++removed; }
  std::uint32_t made = 0, removed = 0;
};

constexpr std::size_t kMapped = 1 << 20;
inline const std::size_t kPage = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));

inline char* map(std::size_t bytes, void* where = nullptr, int more = 0) {
  void* const memory = mmap(where, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0) | more, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  std::memset(memory, 1, bytes);
  return static_cast<char*>(memory);
}

inline std::size_t mappings() {
  std::size_t count = 0;
  each_mapping([&](const Mapping&) {
    ++count;
    return true;
  });
  return count;
}

class MonitorTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!monitor) GTEST_SKIP() << reason;
  }

  std::uint32_t use(const void* address, std::size_t length) {
    RegistrationCache::Entry* const entry = cache.acquire(address, length, true);
    const std::uint32_t key = entry->region.local_key;
    cache.release(*entry);
    return key;
  }

  static constexpr std::size_t kBytes = kMapped;
  std::string reason;
  std::shared_ptr<MemoryMonitor> monitor = process_memory_monitor(reason);
  CountingRegistrar registrar;
  RegistrationCache cache{registrar, monitor.get(), {}};
};

}  // namespace openlapi::verbs
