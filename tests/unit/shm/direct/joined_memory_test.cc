// Neighbouring chunks are one range of addresses and file, and one mapping: what the program does to parts of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "shm/direct/mapping_in_place.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace {

std::atomic<unsigned> calls_of_fallocate{0};

}  // namespace

// The library's own calls come here.
extern "C" int fallocate(int file, int mode, off_t offset, off_t length) {
  ++calls_of_fallocate;
  return static_cast<int>(syscall(SYS_fallocate, file, mode, offset, length));
}

namespace openlapi::direct {
namespace {

constexpr std::uint64_t kChunkWords = kChunkBytes / 8;

// Whole chunks, opened in an order that is random, and the same each time.
std::uint64_t* open_chunks(OpenedProcess& process, std::uint64_t chunks) {
  std::uint64_t* const words = map_words(chunks * kChunkBytes);
  std::vector<std::uint64_t> order(chunks);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::minstd_rand(7));
  for (const std::uint64_t chunk : order) {
    words[chunk * kChunkWords] = chunk;
    EXPECT_EQ(process.promote(&words[chunk * kChunkWords]), Refusal::kNone) << chunk;
  }
  return words;
}

// Without the neighbour's windows.
std::uint32_t mappings_of(const OpenedProcess& process) {
  std::uint32_t count = 0;
  each_mapping_of(process.memory->file_descriptor(), MappingList::open(), [&](const Mapping& mapping) {
    if (mapping.offset % FilePlaces::kAddresses == mapping.begin) ++count;
  });
  return count;
}

std::uint64_t sum_of(const std::uint64_t* words, std::uint64_t count) {
  return std::accumulate(words, words + count, std::uint64_t{0});
}

TEST(JoinedMemory, HasMoreChunksThanTheTableHasEntries) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kChunks = kMostEntries + 100;
    std::uint64_t* const words = open_chunks(process, kChunks);
    EXPECT_EQ(mappings_of(process), 1u);
    for (std::uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      ASSERT_TRUE(process.add(&words[chunk * kChunkWords], 3)) << chunk;
      ASSERT_EQ(load(&words[chunk * kChunkWords]), chunk + 3);
    }
    EXPECT_TRUE(process.neighbour->reach(address_of(&words[kChunkWords]) - 4, 8, [](std::byte*) {})) << "of two chunks";
  });
}

// With what is open already, what may not be opened, and what is not there.
TEST(JoinedMemory, ABlockIsOpenedAsFarAsItCanBe) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kBlock = 2 << 20, kChunks = kBlock / kChunkBytes, kLocked = 9, kAbsent = 20, kOpen = 14;
    std::uint64_t* const room = map_words(2 * kBlock);
    std::uint64_t* const words = reinterpret_cast<std::uint64_t*>((address_of(room) + kBlock - 1) / kBlock * kBlock);
    const auto chunk = [&](std::uint64_t number) { return &words[number * kChunkWords + number]; };
    for (std::uint64_t number = 0; number < kChunks; number += 3) *chunk(number) = number;
    ASSERT_EQ(mlock(chunk(kLocked), 8), 0);
    ASSERT_EQ(munmap(&words[kAbsent * kChunkWords], kChunkBytes), 0);
    ASSERT_EQ(process.promote(chunk(kOpen)), Refusal::kNone);
    EXPECT_EQ(process.memory->promote(address_of(chunk(kLocked)), kBlock), Refusal::kLocked);
    for (std::uint64_t number = 0; number < kChunks; ++number) {
      const bool is_open = number != kLocked && number != kAbsent;
      EXPECT_EQ(process.add(chunk(number), 100), is_open) << number;
      ASSERT_TRUE(!is_open || load(chunk(number)) == 100 + (number % 3 == 0 ? number : 0)) << number;
    }
    EXPECT_FALSE(process.add(words - 1) || process.add(words + kBlock / 8)) << "no more than that";
    EXPECT_LE(mappings_of(process), 4u);
  });
}

TEST(JoinedMemory, AMiddlePartMayBeUnmapped) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kChunks = 8, kHole = 3, kHoleEnd = 5;
    std::uint64_t* const words = open_chunks(process, kChunks);
    const auto chunk = [&](std::uint64_t number) { return &words[number * kChunkWords + 1]; };
    const std::uint64_t rounds = repetitions(100);
    for (std::uint64_t round = 1; round <= rounds; ++round) {
      ASSERT_EQ(munmap(&words[kHole * kChunkWords], (kHoleEnd - kHole) * kChunkBytes), 0);
      map_words_at(&words[kHole * kChunkWords], (kHoleEnd - kHole) * kChunkBytes);
      for (std::uint64_t number = 0; number < kChunks; ++number) {
        if (number >= kHole && number < kHoleEnd) {
          ASSERT_EQ(load(chunk(number)), 0u);
          ASSERT_FALSE(process.add(chunk(number)));
          ASSERT_EQ(process.promote(chunk(number)), Refusal::kNone);
        }
        process.add_when_open(chunk(number));
        ASSERT_EQ(load(chunk(number)), number >= kHole && number < kHoleEnd ? 1 : round);
      }
    }
  });
}

// realloc() does so with large blocks. The kernel shows the new part what is behind the old one in the file.
TEST(JoinedMemory, APartMayBeMovedAndGrow) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    for (std::uint64_t round = repetitions(50); round > 0; --round) {
      std::uint64_t* const words = open_chunks(process, 4);
      words[5] = 55;
      words[2 * kChunkWords] = 66;
      std::uint64_t* const target = map_words(4 * kChunkBytes);
      ASSERT_EQ(mremap(words, 2 * kChunkBytes, 4 * kChunkBytes, MREMAP_MAYMOVE | MREMAP_FIXED, target), target);
      ASSERT_EQ(target[5], 55u);
      ASSERT_EQ(target[kChunkWords], 1u);
      ASSERT_EQ(sum_of(&target[2 * kChunkWords], 2 * kChunkWords), 0u);
      std::memset(&target[2 * kChunkWords], 1, 2 * kChunkBytes);
      ASSERT_EQ(words[2 * kChunkWords], 66u);
      process.add_when_open(&words[2 * kChunkWords]);
      ASSERT_EQ(load(&words[2 * kChunkWords]), 67u);
      ASSERT_FALSE(process.add(&target[5]));
      ASSERT_EQ(process.promote(&target[5]), Refusal::kNone);
      process.add_when_open(&target[5]);
      ASSERT_EQ(load(&target[5]), 56u);
      munmap(target, 4 * kChunkBytes);
      munmap(&words[2 * kChunkWords], 2 * kChunkBytes);
    }
  });
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
std::uint64_t mapped_bytes() {
  std::uint64_t bytes = 0;
  each_mapping([&](const Mapping& mapping) { return bytes += mapping.end - mapping.begin, true; });
  return bytes;
}

// Where there is no room for a copy it stays in the file, but not with what is behind it there.
TEST(JoinedMemory, APartMayGrowWhereAddressesAreFew) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kPart = 64;
    std::uint64_t* const words = open_chunks(process, 2 * kPart);
    std::uint64_t* const other = &words[kPart * kChunkWords];
    words[5] = 55;
    rlimit all{};
    ASSERT_EQ(getrlimit(RLIMIT_AS, &all), 0);
    const rlimit few = {mapped_bytes() + (kPart + kPart / 2) * kChunkBytes, all.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_AS, &few), 0);
    void* const moved = mremap(words, kPart * kChunkBytes, 2 * kPart * kChunkBytes, MREMAP_MAYMOVE);
    ASSERT_EQ(setrlimit(RLIMIT_AS, &all), 0);
    ASSERT_NE(moved, MAP_FAILED);
    auto* const target = static_cast<std::uint64_t*>(moved);
    EXPECT_EQ(target[5], 55u);
    EXPECT_EQ(sum_of(&target[kPart * kChunkWords], kPart * kChunkWords), 0u) << "it is new";
    std::memset(&target[kPart * kChunkWords], 1, kPart * kChunkBytes);
    EXPECT_EQ(other[0], kPart) << "it is another one's";
    process.add_when_open(other);
    EXPECT_EQ(load(other), kPart + 1);
  });
}
#endif

TEST(JoinedMemory, APartMayGrowIntoWhatWasMovedAway) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = open_chunks(process, 4);
    std::uint64_t *const behind = &words[2 * kChunkWords], *const target = map_words(2 * kChunkBytes);
    std::memset(words, 1, 4 * kChunkBytes);
    ASSERT_EQ(mremap(behind, 2 * kChunkBytes, 2 * kChunkBytes, MREMAP_MAYMOVE | MREMAP_FIXED, target), target);
    for (std::uint64_t round = repetitions(20); round > 0; --round) {
      ASSERT_EQ(mremap(words, 2 * kChunkBytes, 4 * kChunkBytes, 0), words);
      std::memset(behind, 2, 2 * kChunkBytes);
      if (round % 2 == 0) {
        ASSERT_EQ(process.promote(behind), Refusal::kNone);
        process.add_when_open(behind);
        ASSERT_EQ(load(behind), 0x0202020202020203u);
      }
      ASSERT_EQ(mremap(words, 4 * kChunkBytes, 2 * kChunkBytes, 0), words);
      ASSERT_FALSE(process.add(behind));
    }
    EXPECT_EQ(sum_of(target, 2 * kChunkWords), 2 * kChunkWords * 0x0101010101010101u);
    process.add_when_open(words);
    EXPECT_EQ(load(words), 0x0101010101010102u);
  });
}

// The thread that gives a part back goes on before the monitor has done all that follows from it.
TEST(JoinedMemory, WhatIsWrittenAfterAPartHasComeBackStays) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = open_chunks(process, 2);
    std::uint64_t* const behind = &words[kChunkWords];
    for (std::uint64_t round = repetitions(3000); round > 0; --round) {
      ASSERT_EQ(mremap(words, 2 * kChunkBytes, kChunkBytes, 0), words);
      ASSERT_EQ(mremap(words, kChunkBytes, 2 * kChunkBytes, 0), words);
      for (std::uint64_t at = 0; at < kChunkWords; at += 512) behind[at] = round;
      ASSERT_FALSE(process.memory->is_open(address_of(behind))) << "the event has been taken";
      for (std::uint64_t at = 0; at < kChunkWords; at += 512) ASSERT_EQ(load(&behind[at]), round);
    }
  });
}

// However often the addresses have been in use.
TEST(JoinedMemory, UnmappingTakesAFewSystemCalls) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* words = map_words(2 * kChunkBytes);
    for (std::uint64_t round = repetitions(100); round > 0; --round) {
      ASSERT_EQ(process.promote(words), Refusal::kNone);
      const unsigned before = calls_of_fallocate;
      ASSERT_EQ(munmap(words, 2 * kChunkBytes), 0);
      words = map_words_at(words, 2 * kChunkBytes);
      ASSERT_EQ(process.promote(&words[kChunkWords]), Refusal::kNone) << "the event has been taken";
      ASSERT_LE(calls_of_fallocate - before, 2u);
      ASSERT_EQ(munmap(words, 2 * kChunkBytes), 0);
      words = map_words_at(words, 2 * kChunkBytes);
    }
  });
}

// A neighbour and threads of the program add to words, while chunks are opened one by one, taken back by forks, and
// others beside them are unmapped and moved.
TEST(JoinedMemory, LosesNothingInTheMiddleOfAllThat) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    constexpr std::uint64_t kChunks = 16, kFarFromOthers = 0x2000'0000'0000;  // nobody's mmap() takes a hole there
    std::uint64_t* const words = map_words_at(reinterpret_cast<void*>(kFarFromOthers), kChunks * kChunkBytes);
    const auto counted = [&](std::uint64_t chunk) { return &words[chunk * kChunkWords + 9]; };
    std::atomic<bool> stop{false};
    std::uint64_t added = 0;
    std::thread adding([&] {
      for (std::uint64_t number = 0; !stop; ++number, ++added) increment(counted(2 * (number % (kChunks / 2))));
    });
    std::thread moving([&] {
      std::uint64_t* const elsewhere = map_words(2 * kChunkBytes);
      for (std::uint64_t number = 0; !stop; ++number) {
        std::uint64_t* const moved = counted(1 + 2 * (number % (kChunks / 2))) - 9;
        moved[3] = number;
        mremap(moved, kChunkBytes, 2 * kChunkBytes, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere);
        EXPECT_EQ(elsewhere[3], number);
        elsewhere[kChunkWords + 9] = number;
        map_words_at(moved, kChunkBytes);
        EXPECT_EQ(moved[3], 0u);
      }
    });
    std::uint64_t direct = 0;
    std::minstd_rand random(11);
    for (std::uint64_t round = repetitions(3000); round > 0; --round) {
      const std::uint64_t chunk = random() % kChunks;
      process.promote(counted(chunk));
      for (std::uint64_t number = 0; number < kChunks; number += 2) direct += process.add(counted(number)) ? 1 : 0;
      if (round % 300 != 0) continue;
      NeighbourProcess child([&] { return load(counted(0)) <= UINT32_MAX ? 0 : 1; });
      EXPECT_EQ(child.end(), 0);
      process.meet();
    }
    stop = true;
    adding.join();
    moving.join();
    std::uint64_t sum = 0;
    for (std::uint64_t chunk = 0; chunk < kChunks; chunk += 2) sum += load(counted(chunk));
    EXPECT_EQ(sum, added + direct);
    EXPECT_GT(direct, 0u);
  });
}

TEST(JoinedMemory, ForkGivesTheChildAllOfIt) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kChunks = 40;
    std::uint64_t* const words = open_chunks(process, kChunks);
    NeighbourProcess child([&] {
      const bool is_whole = sum_of(words, kChunks * kChunkWords) == kChunks * (kChunks - 1) / 2;
      std::memset(words, 1, kChunks * kChunkBytes);
      return is_whole ? 0 : 1;
    });
    EXPECT_EQ(child.end(), 0);
    EXPECT_EQ(mappings_of(process), 0u);
    process.meet();
    for (std::uint64_t chunk = 0; chunk < kChunks; ++chunk) {
      ASSERT_EQ(process.promote(&words[chunk * kChunkWords]), Refusal::kNone);
      ASSERT_TRUE(process.add(&words[chunk * kChunkWords]));
      ASSERT_EQ(load(&words[chunk * kChunkWords]), chunk + 1);
    }
    EXPECT_EQ(mappings_of(process), 1u);
  });
}

}  // namespace
}  // namespace openlapi::direct
