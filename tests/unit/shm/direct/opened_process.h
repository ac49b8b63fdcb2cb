// A process with open memory and a neighbour of its own: in the same process, which is enough for what is mapped where.
// Each case runs in a child, since there is one open memory for a process, and it changes the process's mappings.
#pragma once

#include <fcntl.h>
#include <sys/resource.h>

#include <thread>

#include "dataplane/base/process_maps.h"
#include "shm/direct/open_memory.h"
#include "tests/unit/shm/direct/opened_memory.h"

namespace openlapi::direct {

inline constexpr int kSkipped = 77;

// Runs `body` in a child; what it expects counts here. It may be skipped there.
inline void in_a_process(const std::function<void()>& body) {
  NeighbourProcess process([&] {
    body();
    return testing::Test::IsSkipped() ? kSkipped : 0;
  });
  const int status = process.end();
  if (status == kSkipped) GTEST_SKIP();
  ASSERT_EQ(status, 0);
}

// Who runs while memory is promoted: only the thread that asks for it, or others as well.
enum class Beside { kNobody, kThreads };

inline void become_ordinary_user() {
  if (geteuid() != 0) return;
  ASSERT_EQ(setgid(65534), 0);
  ASSERT_EQ(setuid(65534), 0);
  prctl(PR_SET_DUMPABLE, 1);
}

// Why this process cannot open memory; empty: it can.
inline std::string why_not_open(Beside beside) {
  std::string reason;
  const std::uint32_t threads = count_threads();
  OpenMemory::Pointer trial = OpenMemory::start(1, reason);
  if (!trial) return reason;
  if (beside == Beside::kThreads && !trial->promotes_anytime()) return "no full userfaultfd";
  trial.reset();
  while (count_threads() > threads) sched_yield();  // the kernel lists a joined thread for a moment
  return "";
}

// The same, where the system allows it. What needs no other thread root does once more as an ordinary user.
inline void in_a_process(Beside beside, const std::function<void()>& body) {
  in_a_process([&] {
    const std::string reason = why_not_open(beside);
    if (!reason.empty()) GTEST_SKIP() << reason;
    body();
  });
  if (beside == Beside::kThreads || geteuid() != 0) return;
  in_a_process([&] {
    become_ordinary_user();
    if (why_not_open(beside).empty()) body();
  });
}

class OpenedProcess {
 public:
  explicit OpenedProcess(const OpenMemory::Plan& plan = {.accessors = 4}) : memory(OpenMemory::start(plan, reason)) {
    EXPECT_TRUE(memory) << reason;
    if (memory) meet();
  }

  // As the neighbour does after each fork.
  void meet() {
    std::string error;
    ControlMemory theirs = ControlMemory::attach(FileDescriptor(dup(memory->control().descriptor())), error);
    const std::uint64_t number = theirs.header().file;
    neighbour = std::make_unique<NeighbourMemory>(std::move(theirs), 0);
    EXPECT_TRUE(neighbour->use_file(number, FileDescriptor(dup(memory->file_descriptor())), error)) << error;
  }

  bool add(const void* word, std::uint64_t summand = 1) { return add_directly(*neighbour, address_of(word), summand); }
  // The same after memory was unmapped or moved: who has done that may go on a little before the gate is open again.
  void add_when_open(const void* word, std::uint64_t summand = 1) {
    while (!add(word, summand)) sched_yield();
  }
  Refusal promote(const void* word) { return memory->promote(address_of(word)); }

  std::string reason;
  OpenMemory::Pointer memory;
  std::unique_ptr<NeighbourMemory> neighbour;
};

inline constexpr std::uint64_t kChunkBytes = 64 << 10;  // what is promoted at once

// Whole chunks of fresh private memory.
inline std::uint64_t* map_words(std::uint64_t bytes) {
  void* const room = mmap(nullptr, bytes + kChunkBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const std::uint64_t begin = (address_of(room) / kChunkBytes + 1) * kChunkBytes;
  munmap(room, bytes + kChunkBytes);
  void* const memory = mmap(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<std::uint64_t*>(memory);
}
inline std::uint64_t* map_words_at(void* where, std::uint64_t bytes) {
  void* const memory =
      mmap(where, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT_EQ(memory, where);
  return static_cast<std::uint64_t*>(memory);
}

inline bool is_shared(const void* memory) {
  bool shared = false;
  each_mapping([&](const Mapping& mapping) {
    if (mapping.contains(address_of(memory))) shared = mapping.shared;
    return true;
  });
  return shared;
}

inline std::uint64_t load(const std::uint64_t* word) { return __atomic_load_n(word, __ATOMIC_RELAXED); }
inline void increment(std::uint64_t* word) { __atomic_fetch_add(word, 1, __ATOMIC_RELAXED); }

}  // namespace openlapi::direct
