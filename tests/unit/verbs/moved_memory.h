// A process whose memory neighbours reach directly, which promotes it, and which has it registered with an adapter that
// is really there: with the cache and the monitor of nic/verbs.
#pragma once

#include <sched.h>

#include <memory>
#include <string>
#include <utility>

#include "nic/verbs/memory_monitor.h"
#include "nic/verbs/registration_cache.h"
#include "tests/support/pinning_adapter.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::verbs {

using direct::address_of;
using direct::Beside;
using direct::is_shared;
using direct::kChunkBytes;
using direct::map_words;
using direct::map_words_at;
using direct::OpenedProcess;
using direct::Refusal;
using test::PinningAdapter;

class PinningRegistrar final : public Registrar {
 public:
  Outcome add(std::uint64_t begin, std::uint64_t end, bool, Region& region) override {
    auto adapter = std::make_unique<PinningAdapter>(begin, end);
    if (!adapter->pinned()) return Outcome::refused;
    ++made;
    region = {adapter.release(), made, made};
    return Outcome::done;
  }
  void remove(const Region& region) override { delete static_cast<PinningAdapter*>(region.handle); }

  std::uint32_t made = 0;
};

class RegisteredProcess {
 public:
  RegisteredProcess() { EXPECT_TRUE(monitor) << reason; }

  RegistrationCache::Entry* acquire(const void* memory, std::size_t length) {
    RegistrationCache::Entry* const entry = cache.acquire_current(memory, length, true);
    EXPECT_NE(entry, nullptr);
    return entry;
  }
  // The key of a registration that is used for a moment.
  std::uint32_t use(const void* memory, std::size_t length) {
    RegistrationCache::Entry* const entry = acquire(memory, length);
    const std::uint32_t key = entry->region.local_key;
    cache.release(*entry);
    return key;
  }
  bool stays_registered(const void* memory, std::size_t length) {
    const std::uint32_t key = use(memory, length);
    return use(memory, length) == key;
  }

  static PinningAdapter& adapter_of(const RegistrationCache::Entry& entry) {
    return *static_cast<PinningAdapter*>(entry.region.handle);
  }
  // As a transfer does it: `registered` bytes at `memory` are registered, of which some are written.
  void transfer_in(const void* memory, std::size_t registered, const void* to, const void* data, std::size_t length) {
    for (bool done = false; !done;) {
      RegistrationCache::Entry* const entry = acquire(memory, registered);
      sched_yield();  // others may do what they like now
      EXPECT_TRUE(adapter_of(*entry).write(address_of(to), data, length));
      cache.settle();
      done = !entry->moved;
      cache.release(*entry);
    }
  }
  void transfer_out(const void* memory, std::size_t registered, const void* from, void* data, std::size_t length) {
    RegistrationCache::Entry* const entry = acquire(memory, registered);
    sched_yield();
    EXPECT_TRUE(adapter_of(*entry).read(address_of(from), data, length));
    cache.release(*entry);
  }

  OpenedProcess process;
  std::string reason;
  std::shared_ptr<MemoryMonitor> monitor = process_memory_monitor(reason);
  PinningRegistrar registrar;
  RegistrationCache cache{registrar, monitor.get(), {}};
};

// Runs `body` in a child where all of that is possible.
inline void in_a_registered_process(const std::function<void()>& body) {
  direct::in_a_process(Beside::kThreads, [&] {
    std::string reason = test::why_no_pinning_adapter();
    if (reason.empty()) process_memory_monitor(reason);
    if (!reason.empty()) GTEST_SKIP() << reason;
    body();
  });
}

}  // namespace openlapi::verbs
