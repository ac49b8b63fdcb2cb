// Registered memory that is promoted, and promoted memory that is registered: adapter, program and neighbour see the
// same bytes, and registrations stay where they may.
#include "tests/unit/verbs/moved_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/support/sanitizers.h"

namespace openlapi::verbs {
namespace {

constexpr std::size_t kBytes = 8 * kChunkBytes;

// What the adapter and a neighbour write reaches the program, and what the program writes the adapter.
void expect_one_memory(RegisteredProcess& both, std::uint64_t* word, std::uint64_t value) {
  both.transfer_in(word, 8, word, &value, sizeof value);
  EXPECT_EQ(direct::load(word), value);
  both.process.add_when_open(word, 100);
  std::uint64_t seen = 0;
  both.transfer_out(word, 8, word, &seen, sizeof seen);
  EXPECT_EQ(seen, value + 100);
  *word = value + 1;
  both.transfer_out(word, 8, word, &seen, sizeof seen);
  EXPECT_EQ(seen, value + 1);
}

TEST(MovedMemory, RegisteredMemoryIsPromotedAndRegisteredAnew) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* const words = map_words(kBytes);
    words[3] = 33;
    const std::uint32_t before = both.use(words, kBytes);
    ASSERT_EQ(both.use(words, kBytes), before);
    ASSERT_EQ(both.process.promote(words), Refusal::kNone);
    EXPECT_TRUE(is_shared(words));
    EXPECT_EQ(words[3], 33u);
    EXPECT_NE(both.use(words, kBytes), before);
    EXPECT_TRUE(both.stays_registered(words, kBytes)) << "a part of it is promoted";
    EXPECT_TRUE(both.stays_registered(words, kChunkBytes)) << "all of it is";
    expect_one_memory(both, &words[3], 5);
  });
}

TEST(MovedMemory, WhatAnAdapterUsesStaysWhereItIs) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* const words = map_words(kBytes);
    RegistrationCache::Entry* const entry = both.acquire(words, 2 * kChunkBytes);
    EXPECT_EQ(both.process.promote(words), Refusal::kPinned);
    EXPECT_FALSE(entry->changed) << "nothing has happened";
    EXPECT_EQ(both.process.promote(&words[3 * kChunkBytes / 8]), Refusal::kNone) << "beside it";
    EXPECT_FALSE(is_shared(words));
    both.cache.release(*entry);
    EXPECT_TRUE(both.stays_registered(words, 2 * kChunkBytes));
    EXPECT_EQ(both.process.promote(words), Refusal::kNone);
  });
}

// Whether memory of which no page is pinned is promoted beside a stranger's.
bool kernel_looks(RegisteredProcess& both) { return both.process.promote(map_words(kChunkBytes)) == Refusal::kNone; }

// What the kernel says of each page decides then, where it says it (UFFDIO_MOVE, Linux 6.8).
TEST(MovedMemory, WhatStrangersHavePinnedStaysWhereItIs) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* const words = map_words(kBytes);
    std::uint64_t* const theirs = &words[kChunkBytes / 8];
    words[1] = 11;
    theirs[1] = 22;
    {
      PinningAdapter stranger(address_of(theirs) + 4096, address_of(theirs) + 2 * 4096);
      const std::uint64_t value = 33;
      EXPECT_EQ(both.process.promote(theirs), Refusal::kPinned);
      EXPECT_FALSE(is_shared(theirs));
      EXPECT_TRUE(stranger.write(address_of(&theirs[600]), &value, sizeof value));
      EXPECT_EQ(theirs[600], 33u);
      EXPECT_EQ(theirs[1], 22u);
      const Refusal beside = both.process.promote(words);
      if (beside == Refusal::kPinned) GTEST_SKIP() << "the kernel does not look";
      EXPECT_EQ(beside, Refusal::kNone);
      EXPECT_EQ(words[1], 11u);
      EXPECT_EQ(words[2], 0u);
      expect_one_memory(both, &words[1], 5);
    }
    EXPECT_EQ(both.process.promote(theirs), Refusal::kNone);
    EXPECT_EQ(theirs[1], 22u);
    EXPECT_EQ(theirs[600], 33u);
  });
}

// Where the kernel gives transparent huge pages: of one that is pinned in part nothing can be taken.
TEST(MovedMemory, StrangersInAHugePage) {
  in_a_registered_process([] {
    RegisteredProcess both;
    constexpr std::size_t kHuge = 2 << 20;
    char* const all = reinterpret_cast<char*>(map_words(4 * kHuge));
    char* const huge = all + (kHuge - address_of(all) % kHuge);
    madvise(huge, 2 * kHuge, MADV_HUGEPAGE);
    std::memset(huge, 1, 2 * kHuge);
    {
      PinningAdapter stranger(address_of(huge), address_of(huge) + 4096);
      const Refusal in_it = both.process.promote(huge + 4 * kChunkBytes);
      EXPECT_TRUE(in_it == Refusal::kPinned || in_it == Refusal::kNone) << text_of(in_it);
      EXPECT_EQ(both.process.promote(huge), Refusal::kPinned);
      const Refusal beside = both.process.promote(huge + kHuge);
      if (beside == Refusal::kPinned) GTEST_SKIP() << "the kernel does not look";
      EXPECT_EQ(beside, Refusal::kNone);
      const char two = 2;
      EXPECT_TRUE(stranger.write(address_of(huge + 5), &two, 1));
    }
    EXPECT_EQ(huge[5], 2);
    huge[5] = 1;
    EXPECT_EQ(both.process.promote(huge), Refusal::kNone);
    for (std::size_t at = 0; at < 2 * kHuge; at += 4096) ASSERT_EQ(huge[at], 1) << at;
  });
}

// Threads and their system calls go on meanwhile. A child shares pages with its parent, which are not taken.
TEST(MovedMemory, NothingIsLostBesideStrangers) {
  in_a_registered_process([] {
    RegisteredProcess both;
    const std::uint64_t other = address_of(map_words(kChunkBytes));
    const PinningAdapter stranger(other, other + 4096);
    const std::uint64_t chunks = repetitions(400), in_chunk = kChunkBytes / 8;
    std::uint64_t* const words = map_words(chunks * kChunkBytes);
    for (std::uint64_t at = 0; at < chunks; ++at) words[at * in_chunk + in_chunk / 2] = 5;
    direct::NeighbourProcess child([] {
      pause();
      return 0;
    });
    both.process.meet();
    std::atomic<std::uint64_t> chunk{0}, done{0}, failed{0};
    const FileDescriptor zeros(open("/dev/zero", O_RDONLY));
    const auto write = [&] {
      for (std::uint64_t at = 0; (at = chunk) < chunks; done.fetch_add(1)) {
        direct::increment(&words[at * in_chunk + 77]);
        if (read(zeros.get(), &words[at * in_chunk + 600], 4096) != 4096) failed.fetch_add(1);
      }
    };
    std::thread one(write), two(write);
    std::uint64_t added = 0;
    for (; chunk < chunks; chunk.fetch_add(1)) {
      const std::uint64_t before = done;
      while (done < before + 20) std::this_thread::yield();
      std::uint64_t* const word = &words[chunk * in_chunk + 77];
      const Refusal refusal = both.process.promote(word);
      if (chunk == 0 && refusal == Refusal::kPinned && !kernel_looks(both)) break;
      EXPECT_EQ(refusal, Refusal::kNone);
      for (int i = 0; i < 100; ++i) added += both.process.add(word) ? 1 : 0;
    }
    const bool looked = chunk == chunks;
    chunk = chunks;
    one.join();
    two.join();
    if (!looked) GTEST_SKIP();
    std::uint64_t sum = 0;
    for (std::uint64_t at = 0; at < chunks; ++at) {
      sum += words[at * in_chunk + 77];
      EXPECT_EQ(words[at * in_chunk + in_chunk / 2], 5u) << at;
    }
    EXPECT_EQ(sum, done + added);
    EXPECT_EQ(added, 100 * chunks);
    EXPECT_EQ(failed, 0u);
  });
}

TEST(MovedMemory, PromotedMemoryIsForgottenWhenItChanges) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* words = map_words(kBytes);
    const auto expect_forgotten = [&](const char* what, const std::function<void()>& change) {
      for (int lap = 0; lap < 30; ++lap) {
        ASSERT_EQ(both.process.promote(&words[9]), Refusal::kNone) << what;
        ASSERT_TRUE(both.stays_registered(words, kBytes)) << what;
        const std::uint32_t key = both.use(words, kBytes);
        change();
        ASSERT_NE(both.use(words, kBytes), key) << what << ", lap " << lap;
        const std::uint64_t value = 7;
        both.transfer_in(words, kBytes, &words[9], &value, sizeof value);
        ASSERT_EQ(direct::load(&words[9]), 7u) << what;
      }
    };
    expect_forgotten("munmap and mmap", [&] {
      munmap(words, kBytes);
      map_words_at(words, kBytes);
    });
    expect_forgotten("mmap over it", [&] {
      mmap(words, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    });
    expect_forgotten("MADV_REMOVE", [&] { ASSERT_EQ(madvise(words, kChunkBytes, MADV_REMOVE), 0); });
    expect_forgotten("mremap to elsewhere", [&] {
      std::uint64_t* const place = map_words(kChunkBytes);
      ASSERT_EQ(mremap(words, kChunkBytes, kChunkBytes, MREMAP_MAYMOVE | MREMAP_FIXED, place), place);
      map_words_at(words, kChunkBytes);
      munmap(place, kChunkBytes);
    });
    expect_forgotten("munmap of the private part", [&] {
      std::uint64_t* const part = &words[4 * kChunkBytes / 8];
      munmap(part, kChunkBytes);
      map_words_at(part, kChunkBytes);
    });
  });
}

// The chunk is handed over; the rest of what was watched with it still is.
TEST(MovedMemory, WhatIsNotPromotedStaysWatched) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* const words = map_words(kBytes);
    std::uint64_t* const rest = &words[2 * kChunkBytes / 8];
    both.use(words, kBytes);
    RegistrationCache::Entry* const entry = both.acquire(rest, kChunkBytes);  // of the same registration
    ASSERT_EQ(both.process.promote(words), Refusal::kPinned);
    both.cache.release(*entry);
    ASSERT_EQ(both.process.promote(words), Refusal::kNone);
    const std::uint32_t key = both.use(rest, kChunkBytes);
    ASSERT_EQ(both.use(rest, kChunkBytes), key);
    ASSERT_EQ(madvise(rest, kChunkBytes, MADV_DONTNEED), 0);
    EXPECT_NE(both.use(rest, kChunkBytes), key);
  });
}

// Registrations that were made before and after it overlap, and end in another order than they began.
TEST(MovedMemory, WatchesAreCountedAcrossMoves) {
  in_a_registered_process([] {
    RegisteredProcess both;
    RegistrationCache other(both.registrar, both.monitor.get(), {});
    std::uint64_t* const words = map_words(kBytes);
    for (int lap = 0; lap < 20; ++lap) {
      other.release(*other.acquire_current(words, kBytes, true));
      ASSERT_EQ(both.process.promote(words), Refusal::kNone);
      ASSERT_TRUE(both.stays_registered(words, kBytes));
      direct::NeighbourProcess child([] { return 0; });  // takes it back
      ASSERT_EQ(child.end(), 0);
      ASSERT_TRUE(both.stays_registered(words, kBytes)) << "what was taken back";
      other.settle();  // ends what it had of the first lap
      const std::uint32_t key = both.use(words, kBytes);
      ASSERT_EQ(madvise(words, kBytes, MADV_DONTNEED), 0);
      ASSERT_NE(both.use(words, kBytes), key) << "lap " << lap;
    }
  });
}

TEST(MovedMemory, AForkUnderATransferHasItDoneAgain) {
  in_a_registered_process([] {
    RegisteredProcess both;
    std::uint64_t* const words = map_words(kBytes);
    ASSERT_EQ(both.process.promote(words), Refusal::kNone);
    RegistrationCache::Entry* const entry = both.acquire(words, kBytes);
    direct::NeighbourProcess child([&] { return words[5] == 0 ? 0 : 1; });
    ASSERT_EQ(child.end(), 0);
    words[6] = 66;  // in a page of its own now
    const std::uint64_t value = 55;
    ASSERT_TRUE(RegisteredProcess::adapter_of(*entry).write(address_of(&words[5]), &value, sizeof value));
    both.cache.settle();
    EXPECT_TRUE(entry->moved);
    both.cache.release(*entry);
    both.transfer_in(words, kBytes, &words[5], &value, sizeof value);
    EXPECT_EQ(words[5], 55u);
    EXPECT_EQ(words[6], 66u);
  });
}

// As one that is used once only.
TEST(MovedMemory, AForkIsSeenByWhatIsNotListed) {
  in_a_registered_process([] {
    RegisteredProcess both;
    RegistrationCache once(both.registrar, nullptr, {});
    std::uint64_t* const words = map_words(kBytes);
    ASSERT_EQ(both.process.promote(words), Refusal::kNone);
    RegistrationCache::Entry* const entry = once.acquire_current(words, kBytes, true);
    direct::NeighbourProcess child([] { return 0; });
    ASSERT_EQ(child.end(), 0);
    once.settle();
    EXPECT_TRUE(entry->moved);
    once.release(*entry);
  });
}

TEST(MovedMemory, EitherMayComeAndGoFirst) {
  in_a_registered_process([] {
    std::uint64_t* const words = map_words(kBytes);
    std::string reason;
    for (int lap = 0; lap < 3; ++lap) {
      PinningRegistrar registrar;
      std::shared_ptr<MemoryMonitor> monitor = process_memory_monitor(reason);
      auto cache = std::make_unique<RegistrationCache>(registrar, monitor.get(), RegistrationCache::Limits{});
      cache->release(*cache->acquire_current(words, kBytes, true));
      auto process = std::make_unique<OpenedProcess>();
      ASSERT_EQ(process->promote(words), Refusal::kNone);
      cache->release(*cache->acquire_current(words, kBytes, true));
      if (lap == 1) cache.reset();
      if (lap == 1) monitor.reset();
      process.reset();
      EXPECT_FALSE(is_shared(words));
      if (lap == 1) continue;
      RegistrationCache::Entry* const entry = cache->acquire_current(words, kBytes, true);
      const std::uint64_t value = 9;
      ASSERT_TRUE(RegisteredProcess::adapter_of(*entry).write(address_of(words), &value, sizeof value));
      EXPECT_EQ(*words, 9u);
      EXPECT_TRUE(entry->listed);
      cache->release(*entry);
    }
  });
}

// One thread unmaps; the other gets the addresses as soon as the kernel gives them.
TEST(MovedMemory, AddressesThatComeBackInAnotherThread) {
  in_a_registered_process([] {
    RegisteredProcess both;
    const std::uintptr_t rounds = repetitions(500);
    std::uint64_t* const place = map_words(kChunkBytes);
    std::atomic<std::uintptr_t> round{0};
    std::thread unmapper([&] {
      for (std::uintptr_t i = 1; i <= rounds; ++i) {
        while (round.load() != i) std::this_thread::yield();
        munmap(place, kChunkBytes);
      }
    });
    std::uint32_t wrong = 0;
    for (std::uintptr_t i = 1; i <= rounds; ++i) {
      while (both.process.promote(place) != Refusal::kNone) std::this_thread::yield();
      const std::uint32_t key = both.use(place, kChunkBytes);
      round = i;
      while (mmap(place, kChunkBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
                  0) != place) {
        std::this_thread::yield();
      }
      wrong += both.use(place, kChunkBytes) == key;
    }
    unmapper.join();
    EXPECT_EQ(wrong, 0u);
  });
}

}  // namespace
}  // namespace openlapi::verbs
