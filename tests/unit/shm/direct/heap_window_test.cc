// A window of addresses for an allocator: memory of a file that behaves as ordinary memory does.
#include "shm/direct/heap/heap_window.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {
namespace {

constexpr std::size_t kBytes = 3 << 20;
constexpr int kRights = PROT_READ | PROT_WRITE;
constinit HeapWindow window;

class Heap : public testing::Test {
 protected:
  static void in_window(const std::function<void()>& body, std::uint64_t size = 256 << 20) {
    in_a_process([&] {
      ASSERT_EQ(window.open(size), nullptr);
      body();
    });
  }
  static char* map(std::size_t bytes = kBytes) { return static_cast<char*>(window.map(bytes, kRights)); }
  // What a neighbour sees of it.
  static char* seen(const char* memory, std::size_t bytes = kBytes) {
    const std::uint64_t offset = kHeapPlace + (address_of(memory) - window.begin());
    void* const bytes_there = mmap(nullptr, bytes, kRights, MAP_SHARED, window.file(), static_cast<off_t>(offset));
    EXPECT_NE(bytes_there, MAP_FAILED);
    return static_cast<char*>(bytes_there);
  }
  static long blocks() {
    struct stat status {};
    EXPECT_EQ(fstat(window.file(), &status), 0);
    return status.st_blocks;
  }
};

TEST_F(Heap, GivesMemoryOfItsFile) {
  in_window([] {
    char* const memory = map();
    ASSERT_TRUE(window.has(memory));
    ASSERT_TRUE(window.has(memory + kBytes - 1));
    EXPECT_EQ(address_of(memory) % (32 << 20), 0u);
    EXPECT_TRUE(is_shared(memory));
    char* const there = seen(memory);
    memory[kBytes - 1] = 7;
    EXPECT_EQ(there[kBytes - 1], 7);
    there[5] = 8;
    EXPECT_EQ(memory[5], 8);
  });
}

// A late store of a neighbour, too, is not seen by who gets the memory next.
TEST_F(Heap, GivesBackWhatIsUnmapped) {
  in_window([] {
    char* const memory = map();
    char* const there = seen(memory);
    std::memset(memory, 1, kBytes);
    EXPECT_GE(blocks(), static_cast<long>(kBytes / 512));
    ASSERT_EQ(window.unmap(memory, kBytes), 0);
    EXPECT_EQ(blocks(), 0);
    there[100] = 9;
    EXPECT_EQ(map(), memory);
    EXPECT_EQ(memory[100], 0);
    EXPECT_EQ(memory[kBytes - 1], 0);
  });
}

TEST_F(Heap, WhatIsDiscardedReadsAsZero) {
  in_window([] {
    char* const memory = map();
    const auto discard_some = [&] {
      std::memset(memory, 1, kBytes);
      ASSERT_EQ(window.discard(memory + 8192, 4096), 0);
      EXPECT_EQ(memory[8191], 1);
      EXPECT_EQ(memory[8192], 0);
      EXPECT_EQ(memory[8192 + 4095], 0);
      EXPECT_EQ(memory[8192 + 4096], 1);
      memory[8192] = 2;
      EXPECT_EQ(memory[8192], 2);
    };
    discard_some();
    ASSERT_EQ(window.discard(memory + 8192, 4096), 0);
    EXPECT_EQ(blocks(), static_cast<long>((kBytes - 4096) / 512));
    window.make_private(false);
    discard_some();
  });
}

TEST_F(Heap, FindsRoomWhereThereIsSome) {
  in_window([] {
    char* const first = map(40 << 20);
    char* const second = map();
    char* const third = map(100 << 20);
    ASSERT_TRUE(first != nullptr && second != nullptr && third != nullptr);
    EXPECT_EQ(map(100 << 20), nullptr);
    EXPECT_EQ(map(SIZE_MAX - 5), nullptr);
    ASSERT_EQ(window.unmap(first, 40 << 20), 0);
    EXPECT_EQ(map(70 << 20), nullptr);
    EXPECT_EQ(map(33 << 20), first);
    ASSERT_EQ(window.unmap(second, kBytes), 0);
    EXPECT_EQ(map(), second);
    second[0] = 1;
    EXPECT_EQ(third[0], 0);
  });
}

// What allocators do that cut off an end to have the rest aligned.
TEST_F(Heap, APieceThatIsUnmappedHasNoMemory) {
  in_window([] {
    char* const memory = map();
    std::memset(memory, 1, kBytes);
    ASSERT_EQ(window.unmap(memory, 1 << 20), 0);
    EXPECT_EQ(blocks(), static_cast<long>((2 << 20) / 512));
    EXPECT_EQ(memory[1 << 20], 1);
    EXPECT_NE(map(), memory);
  });
}

TEST_F(Heap, BecomesPrivateWithItsBytes) {
  for (const bool copied : {false, true}) {
    in_window([&] {
      char* const memory = map();
      char* const there = seen(memory);
      memory[0] = 1, memory[kBytes - 1] = 2;
      window.make_private(copied);
      EXPECT_FALSE(window.is_shared());
      EXPECT_FALSE(is_shared(memory));
      EXPECT_EQ(memory[0], 1);
      EXPECT_EQ(memory[kBytes - 1], 2);
      if (copied) there[0] = 3;
      EXPECT_EQ(memory[0], 1);
      memory[0] = 4;
      EXPECT_EQ(there[0], copied ? 3 : 1);
      EXPECT_EQ(map(), nullptr);
      EXPECT_EQ(window.unmap(memory, kBytes), 0);
    });
  }
}

TEST_F(Heap, IsRefusedWhereTheSystemLimitsIt) {
  const auto refusal = [](__rlimit_resource resource, std::uint64_t size) {
    const rlimit limit{.rlim_cur = rlim_t{1} << 40, .rlim_max = RLIM_INFINITY};
    EXPECT_EQ(setrlimit(resource, &limit), 0);
    return window.open(size);
  };
  in_a_process([&] { EXPECT_STREQ(refusal(RLIMIT_FSIZE, 1 << 30), "the size of files is limited (ulimit -f)"); });
  in_a_process(
      [&] { EXPECT_NE(std::string(refusal(RLIMIT_AS, kUsualHeapSize)).find("ulimit -v"), std::string::npos); });
  in_a_process([&] { EXPECT_EQ(refusal(RLIMIT_AS, 1 << 30), nullptr); });
}

TEST(HeapSize, IsAWordOrANumberOfBytes) {
  EXPECT_EQ(heap_size_of("no"), 0u);
  EXPECT_EQ(heap_size_of("yes"), std::uint64_t{1} << 40);
  EXPECT_EQ(heap_size_of("64M"), 64u << 20);
  EXPECT_EQ(heap_size_of("67108864"), 64u << 20);
  EXPECT_EQ(heap_size_of("65536K"), 64u << 20);
  EXPECT_EQ(heap_size_of("3G"), std::uint64_t{3} << 30);
  EXPECT_EQ(heap_size_of("4T"), kHeapPlace);
  for (const char* wrong : {"", "M", "63M", "5T", "4097G", "-1", "1x", "1G ", "YES", "99999999999999999999"}) {
    EXPECT_EQ(heap_size_of(wrong), std::nullopt) << wrong;
  }
}

}  // namespace
}  // namespace openlapi::direct
