// Memory of a process that goes on using it, promoted under its threads; what the program does to it afterwards.
#include "shm/direct/open_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <vector>

#include "tests/support/sanitizers.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {
namespace {

std::uint64_t in_data = 3;

TEST(OpenMemory, OpensHeapMappingAndStackAtTheirAddresses) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    const auto small = std::make_unique<std::uint64_t>(5);
    const auto large = std::make_unique<std::vector<std::uint64_t>>(1 << 20, 6);
    std::uint64_t* const mapped = map_words(1 << 20);
    std::uint64_t on_stack = 8;
    *mapped = 7;
    for (std::uint64_t* word : {small.get(), &(*large)[1 << 19], mapped, &on_stack}) {
      const std::uint64_t before = *word;
      EXPECT_FALSE(process.add(word));
      EXPECT_EQ(process.promote(word), Refusal::kNone);
      EXPECT_EQ(load(word), before);
      EXPECT_TRUE(process.add(word, 100));
      EXPECT_EQ(load(word), before + 100);
      increment(word);
      EXPECT_TRUE(process.add(word, 1000));
      EXPECT_EQ(load(word), before + 1101);
      EXPECT_EQ(process.promote(word), Refusal::kNone) << "once more";
    }
    EXPECT_EQ(large->front(), 6u);
    EXPECT_EQ(large->back(), 6u);
  });
}

TEST(OpenMemory, OpensTheDataSegment) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    EXPECT_EQ(process.promote(&in_data), Refusal::kOtherKind);
    ASSERT_EQ(process.memory->promote_data_segments(), Refusal::kNone);
    EXPECT_TRUE(process.add(&in_data, 100));
    EXPECT_EQ(load(&in_data), 103u);
    process.memory.reset();
    EXPECT_EQ(load(&in_data), 103u);
  });
}

// Not one addition is lost, whoever makes it, while chunk after chunk is moved under the threads.
TEST(OpenMemory, LosesNothingThatIsWrittenMeanwhile) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    constexpr std::uint64_t kChunks = 40, kWords = kChunkBytes / 8;
    std::uint64_t* const words = map_words(kChunks * kChunkBytes);
    std::atomic<std::uint64_t> chunk{0}, done{0};
    std::atomic<bool> stop{false};
    const auto write = [&] {
      while (!stop) {
        increment(&words[chunk * kWords + 77]);
        done.fetch_add(1);
      }
    };
    std::thread one(write), other(write);
    std::uint64_t direct = 0;
    for (; chunk < kChunks - 1; chunk.fetch_add(1)) {
      const std::uint64_t before = done;
      while (done < before + 100) std::this_thread::yield();
      ASSERT_EQ(process.promote(&words[chunk * kWords]), Refusal::kNone);
      for (int i = 0; i < 1000; ++i) direct += process.add(&words[chunk * kWords + 77]) ? 1 : 0;
    }
    stop = true;
    one.join();
    other.join();
    std::uint64_t sum = 0;
    for (std::uint64_t i = 0; i < kChunks * kWords; ++i) sum += words[i];
    EXPECT_EQ(sum, done + direct);
    EXPECT_EQ(direct, (kChunks - 1) * 1000);
  });
}

// read(2) into a chunk that is being moved.
TEST(OpenMemory, FailsNoSystemCallOfAnotherThread) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    const std::uint64_t chunks = repetitions(1000);
    char* const memory = reinterpret_cast<char*>(map_words(chunks * kChunkBytes));
    const FileDescriptor zeros(open("/dev/zero", O_RDONLY));
    std::atomic<std::uint64_t> chunk{0}, calls{0};
    std::uint64_t failed = 0;
    std::thread reader([&] {
      while (chunk < chunks) {
        const std::uint64_t at = chunk;
        if (at < chunks && read(zeros.get(), memory + at * kChunkBytes, kChunkBytes) != kChunkBytes) ++failed;
        calls.fetch_add(1);
      }
    });
    for (; chunk < chunks; chunk.fetch_add(1)) {
      const std::uint64_t before = calls;
      while (calls == before) std::this_thread::yield();
      ASSERT_EQ(process.promote(memory + chunk * kChunkBytes), Refusal::kNone);
    }
    reader.join();
    EXPECT_EQ(failed, 0u);
  });
}

// The program gets the same addresses again, and a neighbour never writes to what they show now by what it knew before.
TEST(OpenMemory, ForgetsWhatIsUnmapped) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kBytes = 1 << 20;
    std::uint64_t* words = map_words(kBytes);
    for (std::uint64_t round = repetitions(300); round > 0; --round) {
      words[100] = round;
      ASSERT_EQ(process.promote(&words[100]), Refusal::kNone);
      process.add_when_open(&words[100]);
      ASSERT_EQ(load(&words[100]), round + 1);
      ASSERT_EQ(munmap(words, kBytes), 0);
      words = map_words_at(words, kBytes);
      ASSERT_FALSE(process.add(&words[100]));
      ASSERT_EQ(load(&words[100]), 0u);
    }
  });
}

// The kernel promises the same to the thread that unmaps as to any that it tells.
TEST(OpenMemory, ForgetsWhatAnotherThreadUnmaps) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    constexpr std::uint64_t kBytes = kChunkBytes;
    for (std::uint64_t round = repetitions(200); round > 0; --round) {
      std::uint64_t* const words = map_words(kBytes);
      ASSERT_EQ(process.promote(words), Refusal::kNone);
      std::atomic<bool> gone{false};
      std::thread other([&] {
        munmap(words, kBytes);
        gone = true;
      });
      while (!gone) process.add(words);
      ASSERT_FALSE(process.add(words));
      other.join();
    }
  });
}

TEST(OpenMemory, GivesTheBytesOfUnmappedMemoryBack) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    std::memset(words, 1, kChunkBytes);
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    struct stat before {
    }, after{};
    fstat(process.memory->file_descriptor(), &before);
    munmap(words, kChunkBytes);
    // Another promotion comes after what was done about it.
    std::uint64_t* const next = map_words(kChunkBytes);
    ASSERT_EQ(process.promote(next), Refusal::kNone);
    fstat(process.memory->file_descriptor(), &after);
    EXPECT_GT(before.st_blocks, after.st_blocks);
  });
}

TEST(OpenMemory, FollowsMovedMemoryWhenItIsAskedFor) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    constexpr std::uint64_t kBytes = kChunkBytes;
    std::uint64_t* const words = map_words(kBytes);
    std::uint64_t* const target = map_words(4 * kBytes);
    words[5] = 55;
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    ASSERT_TRUE(process.add(&words[5]));
    const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    auto* const moved = static_cast<std::uint64_t*>(mremap(words, kBytes, 2 * kBytes, flags, target));
    ASSERT_EQ(moved, target);
    EXPECT_EQ(moved[5], 56u);
    EXPECT_FALSE(process.add(&words[5]));
    EXPECT_FALSE(process.add(&moved[5]));
    EXPECT_EQ(process.promote(&moved[5]), Refusal::kNone);
    process.add_when_open(&moved[5]);
    EXPECT_TRUE(process.add(&moved[kBytes / 8 + 1], 7)) << "the part that is new";
    EXPECT_EQ(moved[5], 57u);
    EXPECT_EQ(moved[kBytes / 8 + 1], 7u);
  });
}

TEST(OpenMemory, ShowsBothSidesWhatIsRemoved) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    *words = 9;
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    ASSERT_EQ(madvise(words, kChunkBytes, MADV_REMOVE), 0);
    EXPECT_EQ(load(words), 0u);
    process.add_when_open(words);
    EXPECT_EQ(load(words), 1u);
  });
}

// malloc, calloc, realloc and free of the C library, beside a thread that uses them, too. Sanitizers have an allocator
// of their own, which counts on it that MADV_DONTNEED clears memory.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(OpenMemory, LivesWithTheAllocator) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    std::atomic<bool> stop{false};
    std::thread other([&] {
      std::vector<std::unique_ptr<char[]>> kept(50);
      for (unsigned number = 1; !stop; number = number * 1103515245 + 12345) {
        const std::size_t size = (number >> 8) % 300000 + 16;
        kept[number % 50] = std::make_unique_for_overwrite<char[]>(size);
        kept[number % 50][size / 2] = 1;
      }
    });
    unsigned number = 7;
    for (std::uint64_t round = repetitions(1000); round > 0; --round) {
      number = number * 1103515245 + 12345;
      const std::size_t words = (number >> 8) % 300000 + 8;
      auto* memory = static_cast<std::uint64_t*>(std::calloc(words, 8));
      std::uint64_t* word = &memory[words - 3];
      ASSERT_EQ(*word | memory[0] | memory[words / 2], 0u);
      ASSERT_EQ(process.promote(word), Refusal::kNone);
      process.add_when_open(word, round);
      ASSERT_EQ(load(word), round);
      memory = static_cast<std::uint64_t*>(std::realloc(memory, words * 24));
      ASSERT_EQ(memory[words - 3], round);
      std::memset(&memory[words], 1, words * 16);
      std::free(memory);
    }
    stop = true;
    other.join();
  });
}
#endif

TEST(OpenMemory, LeavesPrivateMemoryBehind) {
  in_a_process(Beside::kNobody, [] {
    std::uint64_t* const words = map_words(kChunkBytes);
    for (std::uint64_t life = 1; life <= 3; ++life) {
      OpenedProcess process;
      ASSERT_EQ(process.promote(words), Refusal::kNone);
      ASSERT_TRUE(is_shared(words));
      ASSERT_TRUE(process.add(words));
      process.memory.reset();
      ASSERT_FALSE(is_shared(words));
      ASSERT_FALSE(process.add(words));
      ASSERT_EQ(load(words), life);
    }
  });
}

TEST(OpenMemory, IsOneForAProcess) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::string reason;
    EXPECT_FALSE(OpenMemory::start(4, reason));
    EXPECT_NE(reason.find("busy"), std::string::npos) << reason;
  });
}

}  // namespace
}  // namespace openlapi::direct
