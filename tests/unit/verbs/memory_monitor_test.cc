// The process's own monitor and the cache upon it, with a registrar that registers nothing: whatever the process does
// to its memory, the next look finds no old entry.
#include "nic/verbs/memory_monitor.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/unit/verbs/monitor_fixture.h"

namespace openlapi::verbs {
namespace {

// The program's own, with values and without: more than a page each.
char data[4 << 16] = {1};
char zeroes[4 << 16];

// The first whole page.
char* page_of(char* variable) {
  const auto address = reinterpret_cast<std::uintptr_t>(variable);
  return variable + (kPage - address % kPage) % kPage;
}

class ChangeTest : public MonitorTest {
 protected:
  // 100 times: memory is found in the cache, `change` is done, and then it is not.
  void expect_noticed(const char* what, const std::function<char*()>& begin, const std::function<char*(char*)>& change,
                      const std::function<void(char*)>& end) {
    for (int lap = 0; lap < 100; ++lap) {
      char* memory = begin();
      const std::uint32_t key = use(memory, kBytes);
      ASSERT_EQ(use(memory, kBytes), key) << what << ": nothing was kept";
      memory = change(memory);
      ASSERT_NE(use(memory, kBytes), key) << what << ", lap " << lap;
      end(memory);
    }
  }
};

char* begin_map() { return map(kMapped); }
void end_map(char* memory) { munmap(memory, kMapped); }

TEST_F(ChangeTest, UnmappedAndMappedAgain) {
  expect_noticed(
      "munmap and mmap", begin_map,
      [](char* memory) {
        munmap(memory, kBytes);
        return map(kBytes, memory);
      },
      end_map);
}

TEST_F(ChangeTest, MappedOver) {
  expect_noticed(
      "MAP_FIXED of a page", begin_map, [](char* memory) { return map(kPage, memory + kBytes / 2), memory; }, end_map);
}

TEST_F(ChangeTest, EmptiedPages) {
  for (const int advice : {MADV_DONTNEED, MADV_FREE}) {
    expect_noticed(
        "madvise", begin_map,
        [&](char* memory) {
          EXPECT_EQ(madvise(memory + kBytes - kPage, kPage, advice), 0);
          return memory;
        },
        end_map);
  }
}

TEST_F(ChangeTest, ShrunkAndGrown) {
  expect_noticed(
      "mremap to less and back", begin_map,
      [](char* memory) {
        EXPECT_EQ(mremap(memory, kBytes, kBytes / 2, 0), memory);
        return map(kBytes / 2, memory + kBytes / 2), memory;
      },
      end_map);
}

TEST_F(ChangeTest, MovedAway) {
  expect_noticed(
      "mremap to elsewhere", begin_map,
      [](char* memory) {
        char* const place = map(kBytes);
        EXPECT_EQ(mremap(memory, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place), place);
        map(kBytes, memory);
        munmap(place, kBytes);
        return memory;
      },
      end_map);
}

TEST_F(ChangeTest, MovedAwayButNotUnmapped) {
  expect_noticed(
      "mremap that leaves empty pages", begin_map,
      [](char* memory) {
        char* const place = map(kBytes);
        EXPECT_EQ(mremap(memory, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, place), place);
        munmap(place, kBytes);
        return memory;
      },
      end_map);
}

TEST_F(ChangeTest, ReplacedByOtherMemoryThatMovesThere) {
  expect_noticed(
      "mremap onto it", begin_map,
      [](char* memory) {
        char* const other = map(kBytes);
        EXPECT_EQ(mremap(other, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory), memory);
        return memory;
      },
      end_map);
}

#ifndef __SANITIZE_ADDRESS__  // it has a heap of its own
// The C library unmaps large blocks by calls of its own that nobody can interpose.
TEST_F(MonitorTest, FreedBlocksOfTheCLibrary) {
  ASSERT_EQ(mallopt(M_MMAP_THRESHOLD, 64 << 10), 1);  // and stays so: each block is a mapping
  int same = 0;
  for (int lap = 0; lap < 300; ++lap) {
    char* const memory = static_cast<char*>(malloc(kBytes));
    std::memset(memory, 1, kBytes);
    const std::uint32_t key = use(memory, kBytes);
    ASSERT_EQ(use(memory, kBytes), key);
    free(memory);
    char* const next = static_cast<char*>(malloc(kBytes));
    std::memset(next, 2, kBytes);
    same += memory == next;
    ASSERT_NE(use(next, kBytes), key);
    free(next);
  }
  EXPECT_GT(same, 0) << "no address came back: nothing was tested";
}
#endif

TEST_F(ChangeTest, TheHeapsEndThatIsGivenBack) {
  char* const before = static_cast<char*>(sbrk(0));
  expect_noticed(
      "sbrk",
      [] {
        char* const memory = static_cast<char*>(sbrk(static_cast<std::intptr_t>(kBytes)));
        std::memset(memory, 1, kBytes);
        return memory;
      },
      [](char* memory) {
        EXPECT_EQ(brk(memory), 0);
        EXPECT_EQ(sbrk(static_cast<std::intptr_t>(kBytes)), memory);
        std::memset(memory, 2, kBytes);
        return memory;
      },
      [](char* memory) { EXPECT_EQ(brk(memory), 0); });
  EXPECT_EQ(sbrk(0), before);
}

bool kernel_is_at_least(int major, int minor) {
  utsname names{};
  int has[2] = {0, 0};
  EXPECT_EQ(uname(&names), 0);
  EXPECT_EQ(std::sscanf(names.release, "%d.%d", &has[0], &has[1]), 2) << names.release;
  return has[0] != major ? has[0] > major : has[1] >= minor;
}

// Mappings of files are watched since Linux 6.7; before, they are not kept.
TEST_F(MonitorTest, VariablesOfTheProgram) {
  for (char* const variable : {zeroes, data}) {
    char* const page = page_of(variable);
    std::memset(page, 2, kPage);
    const std::uint32_t key = use(page, kPage);
    if (variable == data && !kernel_is_at_least(6, 7)) {
      EXPECT_NE(use(page, kPage), key);
      return;
    }
    ASSERT_EQ(use(page, kPage), key);
    ASSERT_EQ(madvise(page, kPage, MADV_DONTNEED), 0);
    EXPECT_NE(use(page, kPage), key);
  }
  EXPECT_EQ(use(page_of(data), 2), use(page_of(data), 2));
}

// A fork copies those that are pinned, and fails if none is free. Here none has to be: nobody touches them.
TEST_F(MonitorTest, HugePagesAreNotKept) {
  constexpr std::size_t kHuge = 64 << 20;  // at least one page of any usual size
  void* const memory =
      mmap(nullptr, kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no huge pages: " << std::strerror(errno);
  const std::size_t before = mappings();
  EXPECT_NE(use(memory, kPage), use(memory, kPage));
  EXPECT_EQ(registrar.removed, registrar.made);
  EXPECT_EQ(mappings(), before) << "they never join again";
  munmap(memory, kHuge);
}

// Where the kernel gives them. A range ends within one.
TEST_F(MonitorTest, TransparentHugePages) {
  constexpr std::size_t kHuge = 2 << 20;
  for (int lap = 0; lap < 10; ++lap) {
    char* const all =
        static_cast<char*>(mmap(nullptr, 3 * kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    char* const memory = all + (kHuge - reinterpret_cast<std::uintptr_t>(all) % kHuge);
    madvise(memory, 2 * kHuge, MADV_HUGEPAGE);
    std::memset(memory, 1, 2 * kHuge);
    const std::uint32_t key = use(memory, kHuge + kPage);
    ASSERT_EQ(use(memory, kHuge + kPage), key);
    ASSERT_EQ(madvise(memory + kHuge, kHuge, MADV_DONTNEED), 0);
    ASSERT_NE(use(memory, kHuge + kPage), key);
    munmap(all, 3 * kHuge);
  }
}

// Others that have it, or the file, can take its pages away; this process is not told.
TEST_F(MonitorTest, WhatCanLoseItsPagesSecretlyIsNotKept) {
  const int file = memfd_create("monitor", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, static_cast<off_t>(kBytes)), 0);
  const int segment = shmget(IPC_PRIVATE, kBytes, IPC_CREAT | 0600);
  ASSERT_GE(segment, 0);
  const auto map_it = [&](int flags, int from) {
    return mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, flags, from, 0);
  };
  void* const all[] = {map_it(MAP_SHARED, file), map_it(MAP_PRIVATE, file), map_it(MAP_SHARED | MAP_ANONYMOUS, -1),
                       shmat(segment, nullptr, 0)};
  shmctl(segment, IPC_RMID, nullptr);
  for (void* const one : all) {
    char* const memory = static_cast<char*>(one);
    const std::size_t before = mappings();
    const std::uint32_t key = use(memory + kPage, kPage);
    EXPECT_NE(use(memory + kPage, kPage), key);
    EXPECT_EQ(mappings(), before) << "not even for a moment: some stay split";
    munmap(memory, kBytes);
  }
  EXPECT_EQ(registrar.removed, registrar.made);
  close(file);
}

TEST_F(MonitorTest, MemoryThatWasNeverTouchedCanBeUsedByTheKernel) {
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  use(memory, kBytes);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], "abc", 3), 3);
  EXPECT_EQ(read(ends[0], memory, 3), 3) << "a system call into watched memory";
  EXPECT_EQ(static_cast<char*>(memory)[kBytes - 1], 0);
  munmap(memory, kBytes);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(MonitorTest, AForkedChildMayDoAsItLikesAndEnds) {
  char* const memory = map(kBytes);
  const std::uint32_t key = use(memory, kBytes);
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    std::memset(memory, 7, kBytes);
    munmap(memory, kBytes);
    char* const again = map(kBytes, memory);
    if (use(again, kBytes) == key &&
        monitor->watch(reinterpret_cast<std::uintptr_t>(again), reinterpret_cast<std::uintptr_t>(again) + kBytes)) {
      _exit(1);  // nobody watches for a child
    }
    monitor.reset();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(use(memory, kBytes), key);
  EXPECT_EQ(memory[0], 1);
  munmap(memory, kBytes);
}

// One thread unmaps; the other gets the addresses as soon as the kernel gives them, perhaps before the first has
// returned.
TEST_F(MonitorTest, AddressesThatComeBackInAnotherThread) {
  constexpr std::uintptr_t kRounds = 500;
  char* const place = map(kBytes);
  std::atomic<std::uintptr_t> round{0};
  std::thread unmapper([&] {
    for (std::uintptr_t i = 1; i <= kRounds; ++i) {
      while (round.load() != i) std::this_thread::yield();
      munmap(place, kBytes);
    }
  });
  std::uint32_t wrong = 0;
  for (std::uintptr_t i = 1; i <= kRounds; ++i) {
    const std::uint32_t key = use(place, kBytes);
    round = i;
    while (mmap(place, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) !=
           place) {
      std::this_thread::yield();
    }
    RegistrationCache::Entry* const entry = cache.acquire_current(place, kBytes, true);
    ASSERT_NE(entry, nullptr);
    wrong += entry->region.local_key == key;
    cache.release(*entry);
  }
  unmapper.join();
  EXPECT_EQ(wrong, 0u);
  munmap(place, kBytes);
}

TEST(ProcessMonitor, IsSharedAndEndsWithItsLastUser) {
  std::string reason;
  auto one = process_memory_monitor(reason);
  if (!one) GTEST_SKIP() << reason;
  const auto other = process_memory_monitor(reason);
  EXPECT_EQ(one, other);
  for (int i = 0; i < 50; ++i) {
    one.reset();
    const_cast<std::shared_ptr<MemoryMonitor>&>(other).reset();
    one = process_memory_monitor(reason);
    ASSERT_NE(one, nullptr);
    char* const memory = map(kPage);
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    ASSERT_TRUE(one->watch(begin, begin + kPage));
    EXPECT_TRUE(one->settled());
    munmap(memory, kPage);
  }
}

TEST(ProcessMonitor, AnOrdinaryUserHasItToo) {
  std::string reason;
  if (!process_memory_monitor(reason)) GTEST_SKIP() << reason;
  const pid_t child = fork();
  if (child == 0) {
    alarm(30);
    if (getuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) _exit(2);
    std::string why;
    auto own = process_memory_monitor(why);
    if (!own) _exit(3);
    CountingRegistrar registrar;
    RegistrationCache cache(registrar, own.get(), {});
    char* const memory = map(kPage);
    for (int i = 0; i < 2; ++i) cache.release(*cache.acquire(memory, kPage, true));
    if (cache.counters().hits != 1) _exit(4);
    munmap(memory, kPage);
    map(kPage, memory);
    cache.release(*cache.acquire(memory, kPage, true));
    _exit(cache.counters().invalidated == 1 ? 0 : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << WEXITSTATUS(status);
}

}  // namespace
}  // namespace openlapi::verbs
