// What neighbours reach from the beginning, without userfaultfd: a heap that lies in a file, and static data.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>

#include "shm/direct/data_segments.h"
#include "shm/direct/heap/heap_window.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {
namespace {

std::uint64_t initialised = 3;
std::uint64_t zero[1 << 20];  // 8 MiB, of which nobody uses most

constinit HeapWindow window;

// As the preloaded library tells of it.
struct PreloadedWindow {
  explicit PreloadedWindow(std::uint64_t size) {
    heap.refusal = window.open(size);
    EXPECT_EQ(heap.refusal, nullptr);
    heap.file = window.file();
    heap.begin = window.begin();
    heap.end = window.end();
  }
  PreloadedHeap heap{.version = kPreloadedHeapVersion,
                     .refusal = nullptr,
                     .file = -1,
                     .begin = 0,
                     .end = 0,
                     .is_shared = [] { return window.is_shared(); },
                     .make_private = [](bool copied) { window.make_private(copied); }};
};

std::uint64_t* map_in_window(std::size_t bytes) {
  return static_cast<std::uint64_t*>(window.map(bytes, PROT_READ | PROT_WRITE));
}

void in_an_opened_process(const std::function<void(OpenedProcess&)>& body) {
  in_a_process([&] {
    const PreloadedWindow preloaded(std::uint64_t{4} << 30);
    OpenedProcess process({.accessors = 4, .promotes = false, .heap = &preloaded.heap});
    body(process);
  });
}

TEST(BornShared, TheHeapIsReachedFromTheFirstOperationOn) {
  in_an_opened_process([](OpenedProcess& process) {
    constexpr std::size_t kBytes = std::size_t{3} << 30;  // over the ends of windows
    std::uint64_t* const words = map_in_window(kBytes);
    ASSERT_NE(words, nullptr);
    for (const std::size_t at : {std::size_t{0}, kBytes / 16, kBytes / 8 - 1}) {
      words[at] = 5;
      EXPECT_TRUE(process.add(&words[at], 100));
      EXPECT_EQ(load(&words[at]), 105u);
    }
    std::uint64_t* const later = map_in_window(1 << 20);
    EXPECT_TRUE(process.add(later));
    EXPECT_EQ(load(later), 1u);
    std::uint64_t elsewhere = 0;
    EXPECT_FALSE(process.add(&elsewhere));
    EXPECT_EQ(process.promote(&elsewhere), Refusal::kNever);
  });
}

TEST(BornShared, OnePieceOfTheHeapIsReachedAsAWhole) {
  in_an_opened_process([](OpenedProcess& process) {
    auto* const bytes = reinterpret_cast<char*>(map_in_window(64 << 20));
    constexpr std::size_t kRegionEnd = 2 << 20, kLength = 16384;
    char* const from = bytes + kRegionEnd - 100;
    std::memset(from, 6, kLength);
    EXPECT_TRUE(process.neighbour->reach(address_of(from), kLength, [](std::byte* seen) {
      for (std::size_t at = 0; at < kLength; ++at) ASSERT_EQ(seen[at], std::byte{6});
    }));
  });
}

TEST(BornShared, AChildOfAForkHasAHeapOfItsOwn) {
  in_an_opened_process([](OpenedProcess& process) {
    std::uint64_t* const words = map_in_window(1 << 20);
    words[0] = 1, initialised = 1;
    EXPECT_EQ(process.memory->promote_data_segments(), Refusal::kNone);
    NeighbourProcess child([&] {
      words[0] += 10, initialised += 10;
      return static_cast<int>(words[0] + initialised);
    });
    EXPECT_EQ(child.end(), 22);
    words[0] += 100;
    EXPECT_EQ(words[0], 101u);
    EXPECT_EQ(initialised, 1u);
    EXPECT_FALSE(process.memory->has_heap());
    EXPECT_FALSE(process.add(words));
    process.meet();
    EXPECT_FALSE(process.add(words));
    EXPECT_FALSE(process.add(&initialised));
    EXPECT_FALSE(window.is_shared());
  });
}

// LAPI_Term and LAPI_Init.
TEST(BornShared, WhatIsOpenedAnewHasItsBytes) {
  in_a_process([&] {
    const PreloadedWindow preloaded(std::uint64_t{1} << 30);
    std::uint64_t* const words = map_in_window(1 << 20);
    words[0] = initialised = zero[1 << 19] = 0;
    for (std::uint64_t round = 1; round < 5; ++round) {
      OpenedProcess process({.accessors = 4, .promotes = false, .heap = &preloaded.heap});
      EXPECT_EQ(process.memory->promote_data_segments(), round == 1 ? Refusal::kNone : Refusal::kTooMuch);
      for (std::uint64_t* const word : {words, &initialised}) {
        EXPECT_TRUE(process.add(word, 100));
        increment(word);
        EXPECT_EQ(load(word), 101 * round);
      }
      EXPECT_EQ(process.add(&zero[1 << 19], 101), round == 1);
      process.memory.reset();
      EXPECT_EQ(load(words), 101 * round);
      EXPECT_EQ(load(&initialised), 101 * round);
      EXPECT_EQ(zero[1 << 19], 101u);
      EXPECT_TRUE(window.is_shared());
      EXPECT_FALSE(is_shared(&initialised));
    }
  });
}

// Who stopped inside stores later, into the file that nobody has any more.
TEST(BornShared, NothingIsLeftToWhoDoesNotGoOn) {
  in_an_opened_process([](OpenedProcess& process) {
    std::uint64_t* const words = map_in_window(1 << 20);
    words[0] = 5;
    ASSERT_TRUE(process.add(words));
    const Entrance::Visit inside(process.neighbour->entrance());
    std::byte* const bytes = process.neighbour->find(inside, address_of(words), 8);
    ASSERT_NE(bytes, nullptr);
    process.memory->end_visits(0);
    bytes[0] = std::byte{77};
    EXPECT_EQ(load(words), 6u);
    EXPECT_FALSE(window.is_shared());
  });
}

// The program's own, and nothing of the C library's, which has threads in it.
TEST(BornShared, StaticDataAreTheProgramsOwn) {
  const auto is_in = [segments = data_segments()](const void* memory) {
    for (const AddressRange& segment : segments) {
      if (address_of(memory) >= segment.begin && address_of(memory) < segment.end) return true;
    }
    return false;
  };
  EXPECT_TRUE(is_in(&initialised));
  EXPECT_TRUE(is_in(&zero[0]));
  EXPECT_TRUE(is_in(&zero[(1 << 20) - 1]));
  EXPECT_FALSE(is_in(stdin));
  std::uint64_t on_stack = 0;
  EXPECT_FALSE(is_in(&on_stack));
}

// What is never used costs nothing; what is much is left to who asks for it.
TEST(BornShared, StaticDataAreOpenedAsFarAsCopyingThemIsShort) {
  for (const bool much : {false, true}) {
    in_a_process([&] {
      for (std::size_t at = 0; much && at < std::size(zero); at += 512) zero[at] = 1;
      constexpr std::size_t kMiddle = 1 << 19;
      zero[kMiddle] = 5;
      OpenedProcess process({.accessors = 4, .promotes = false});
      EXPECT_EQ(process.memory->promote_data_segments(), much ? Refusal::kTooMuch : Refusal::kNone);
      EXPECT_TRUE(process.add(&initialised));
      EXPECT_EQ(process.add(&zero[kMiddle]), !much);
      EXPECT_EQ(process.add(&zero[(1 << 20) - 1], 7), !much);
      EXPECT_EQ(zero[kMiddle], much ? 5u : 6u);
      EXPECT_EQ(zero[(1 << 20) - 1], much ? 0u : 7u);
    });
  }
}

}  // namespace
}  // namespace openlapi::direct
