// The process's own monitor leaves mappings as it found them: a process may have only so many, and mremap() moves only
// whole ones.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>

#include "tests/unit/verbs/monitor_fixture.h"

namespace openlapi::verbs {
namespace {

// Of one mapping every second page is used. What of it leaves the cache must not stay a mapping of its own: the kernel
// allows a process 65,530.
TEST_F(MonitorTest, MappingsDoNotStaySplit) {
  constexpr std::size_t kUsed = 500, kLimit = 10, kOthers = 20;  // the C library may map some for itself
  char* const memory = map(2 * kUsed * kPage);
  const std::size_t before = mappings();
  {
    RegistrationCache small(registrar, monitor.get(), {.entries = kLimit});
    RegistrationCache other(registrar, monitor.get(), {.entries = kLimit});
    for (std::size_t i = 0; i < kUsed; ++i) {
      for (RegistrationCache* one : {&small, &other}) one->release(*one->acquire(memory + 2 * i * kPage, kPage, true));
    }
    const std::size_t last = 2 * (kUsed - 1) * kPage;
    EXPECT_GE(mappings(), before + 2 * kLimit - 1) << "nothing was watched";
    EXPECT_LE(mappings(), before + 2 * kLimit + kOthers);
    RegistrationCache::Entry* const entry = small.acquire(memory + last, kPage, true);
    const std::uint32_t key = entry->region.local_key;
    small.release(*entry);
    for (std::size_t i = 0; i < kLimit; ++i) other.release(*other.acquire(memory + 2 * i * kPage, kPage, true));
    ASSERT_EQ(madvise(memory + last, kPage, MADV_DONTNEED), 0);
    RegistrationCache::Entry* const again = small.acquire(memory + last, kPage, true);
    EXPECT_NE(again->region.local_key, key) << "what one cache let go of was still watched for the other";
    small.release(*again);
  }
  EXPECT_LE(mappings(), before + kOthers);
  munmap(memory, 2 * kUsed * kPage);
}

TEST_F(MonitorTest, EmptiedMemoryIsNoLongerWatched) {
  constexpr std::size_t kUsed = 200, kOthers = 20;
  char* const memory = map(2 * kUsed * kPage);
  const std::size_t before = mappings();
  for (std::size_t i = 0; i < kUsed; ++i) use(memory + 2 * i * kPage, kPage);
  ASSERT_EQ(madvise(memory, 2 * kUsed * kPage, MADV_DONTNEED), 0);
  cache.settle();
  EXPECT_EQ(cache.counters().invalidated, kUsed);
  EXPECT_LE(mappings(), before + kOthers);
  munmap(memory, 2 * kUsed * kPage);
}

// The kernel moves only what is one mapping.
TEST_F(MonitorTest, MemoryThatIsNoLongerKeptCanBeMoved) {
  char* memory = map(kBytes);
  {
    RegistrationCache short_lived(registrar, monitor.get(), {});
    short_lived.release(*short_lived.acquire(memory + kPage, kPage, true));
  }
  void* const moved = mremap(memory, kBytes, 2 * kBytes, MREMAP_MAYMOVE);
  ASSERT_NE(moved, MAP_FAILED);
  munmap(moved, 2 * kBytes);
}

// Free addresses behind it: it can grow there.
char* map_with_room(std::size_t bytes, std::size_t room) {
  char* const memory = map(bytes + room);
  munmap(memory + bytes, room);
  return memory;
}

class MovedMonitorTest : public MonitorTest {
 protected:
  // The cache lets go of what it had.
  void use_for_a_while(const char* memory, std::size_t length, const std::function<void()>& meanwhile) {
    RegistrationCache short_lived(registrar, monitor.get(), {});
    short_lived.release(*short_lived.acquire(memory, length, true));
    meanwhile();
    short_lived.settle();
  }
  static void expect_movable(char* memory, std::size_t bytes) {
    void* const moved = mremap(memory, bytes, 2 * bytes, MREMAP_MAYMOVE);
    ASSERT_NE(moved, MAP_FAILED) << std::strerror(errno);
    munmap(moved, 2 * bytes);
  }
};

// Without an event: its new part is watched as the old one.
TEST_F(MovedMonitorTest, MemoryThatHasGrownWhileItWasKeptCanBeMoved) {
  char* const memory = map_with_room(kBytes, 3 * kBytes);
  use_for_a_while(memory, kBytes, [&] { ASSERT_EQ(mremap(memory, kBytes, 2 * kBytes, 0), memory); });
  expect_movable(memory, 2 * kBytes);
}

TEST_F(MovedMonitorTest, GrownMemoryStaysWatchedWhereItIsKept) {
  char* const memory = map_with_room(kBytes, 3 * kBytes);
  std::uint32_t key = 0;
  use_for_a_while(memory, kBytes, [&] {
    ASSERT_EQ(mremap(memory, kBytes, 2 * kBytes, 0), memory);
    key = use(memory + kBytes, kPage);
  });
  ASSERT_EQ(use(memory + kBytes, kPage), key);
  ASSERT_EQ(madvise(memory + kBytes, kPage, MADV_DONTNEED), 0);
  EXPECT_NE(use(memory + kBytes, kPage), key);
  munmap(memory, 2 * kBytes);
}

TEST_F(MovedMonitorTest, MemoryThatWasMovedWhileItWasKeptCanBeMovedAgain) {
  char* memory = map(kBytes);
  char* const place = map_with_room(kBytes, kBytes);
  use_for_a_while(memory, kBytes,
                  [&] { ASSERT_EQ(mremap(memory, kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place), place); });
  use_for_a_while(place, kPage, [] {});
  expect_movable(place, kBytes);
}

TEST_F(MovedMonitorTest, WhatAMoveLeavesThereCanBeMoved) {
  char* const memory = map(kBytes);
  char* const place = map(kBytes);
  use_for_a_while(memory + kPage, kPage, [&] {
    // The kernel moves only what is one mapping: the watched page.
    ASSERT_EQ(mremap(memory + kPage, kPage, kPage, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, place), place);
  });
  expect_movable(memory, kBytes);
  munmap(place, kBytes);
}

// An allocator that gives one page back again and again.
void overflow_log(char* page) {
  for (std::size_t i = 0; i < 2 * MemoryChanges::kKept; ++i) ASSERT_EQ(madvise(page, kPage, MADV_DONTNEED), 0);
}

TEST_F(MonitorTest, MappingsDoNotStaySplitAfterMoreChangesThanTheLogHolds) {
  constexpr std::size_t kUsed = 200, kOthers = 20;
  char* const memory = map(2 * kUsed * kPage);
  char* const purged = map(kPage);
  const std::size_t before = mappings();
  for (std::size_t i = 0; i < kUsed; ++i) use(memory + 2 * i * kPage, kPage);
  use(purged, kPage);
  EXPECT_GE(mappings(), before + 2 * kUsed - 2) << "nothing was watched";
  munmap(memory, kPage);  // what is gone may be unknown
  overflow_log(purged);
  cache.settle();
  EXPECT_LE(mappings(), before + kOthers);
  munmap(memory + kPage, (2 * kUsed - 1) * kPage);
  munmap(purged, kPage);
}

// -1: not possible.
int watch_oneself(char* memory, std::size_t bytes) {
  int own = static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  uffdio_api wanted{};
  wanted.api = UFFD_API;
  if (own < 0 || ioctl(own, UFFDIO_API, &wanted) != 0) return -1;
  uffdio_register request{};
  request.range = {.start = reinterpret_cast<std::uintptr_t>(memory), .len = bytes};
  request.mode = UFFDIO_REGISTER_MODE_MISSING;
  return ioctl(own, UFFDIO_REGISTER, &request) == 0 ? own : -1;
}

// Nothing tells that the addresses are another's: as while the event of the munmap() is unread.
TEST_F(MonitorTest, WhatOthersWatchInItsPlaceStaysWatched) {
  char* const memory = map(kBytes);
  char* const purged = map(kPage);
  use(memory, kBytes);
  use(purged, kPage);
  munmap(memory, kBytes);
  ASSERT_EQ(mmap(memory, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), memory);
  const int own = watch_oneself(memory, kBytes);
  ASSERT_GE(own, 0) << std::strerror(errno);
  overflow_log(purged);
  cache.settle();
  const std::size_t before = mappings();
  uffdio_zeropage fill{};  // only in memory that it watches
  fill.range = {.start = reinterpret_cast<std::uintptr_t>(memory), .len = kBytes};
  EXPECT_EQ(ioctl(own, UFFDIO_ZEROPAGE, &fill), 0) << std::strerror(errno);
  EXPECT_EQ(mappings(), before);
  close(own);
  munmap(memory, kBytes);
  munmap(purged, kPage);
}

}  // namespace
}  // namespace openlapi::verbs
