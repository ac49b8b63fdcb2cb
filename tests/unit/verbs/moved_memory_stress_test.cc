// Everything at once: an adapter that writes and reads memory, which is promoted, taken back by forks, unmapped and
// mapped again at the same address, while a neighbour and the program add to words between the transfers' bytes. Not
// one wrong byte, and exact sums.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include "tests/support/sanitizers.h"
#include "tests/support/seeded_random.h"
#include "tests/unit/verbs/moved_memory.h"

namespace openlapi::verbs {
namespace {

constexpr std::size_t kChunks = 4, kBytes = kChunks * kChunkBytes;
constexpr std::size_t kBody = kChunkBytes - 64;  // of each chunk; behind it is the word that others add to

class Turmoil {
 public:
  explicit Turmoil(std::uint64_t laps) : laps_(laps) {}

  void run() {
    std::thread promoter([this] { promote(); }), forker([this] { fork_often(); }), neighbour([this] { add(); });
    transfer();
    stop_ = true;
    for (std::thread* one : {&promoter, &forker, &neighbour}) one->join();
    expect_sums();
    const RegistrationCache::Counters& counters = both_.cache.counters();
    EXPECT_GT(counters.hits, 0u);
    EXPECT_GT(counters.invalidated, 0u);
  }

 private:
  char* chunk(std::size_t number) const { return reinterpret_cast<char*>(words_) + number * kChunkBytes; }
  std::uint64_t* sum(std::size_t number) const { return reinterpret_cast<std::uint64_t*>(chunk(number) + kBody); }

  void transfer() {
    SeededRandom random(1);
    char* place = chunk(0);
    // Until all has happened often enough, whoever runs how often.
    for (std::uint64_t lap = 0; std::min({lap, promoted_.load(), 10 * forks_, added_.load()}) < laps_; ++lap) {
      if (testing::Test::HasFailure()) return;
      // Mostly the same chunk again, which is found in the cache.
      if (lap % 8 == 7) map_again(place, static_cast<int>(lap));
      if (lap % 4 == 0) place = chunk(random.below(kChunks));
      const std::size_t length = 8 + random.below(kBody - 8);
      const std::size_t at = random.below(kBody - length + 1);
      // Now and then all of it is registered, which is then partly promoted.
      const bool all = random.below(8) == 0;
      const void* const registered = all ? static_cast<const void*>(words_) : place;
      transfer_once(registered, all ? kBytes : kChunkBytes, place + at, length, static_cast<int>(lap));
    }
  }

  void transfer_once(const void* registered, std::size_t bytes, char* place, std::size_t length, int lap) {
    std::memset(data_.data(), lap % 251 + 1, length);
    both_.transfer_in(registered, bytes, place, data_.data(), length);
    ASSERT_EQ(std::memcmp(place, data_.data(), length), 0) << "what has come in, lap " << lap;
    std::memset(place, lap % 241 + 2, length);
    both_.transfer_out(registered, bytes, place, data_.data(), length);
    ASSERT_EQ(std::memcmp(place, data_.data(), length), 0) << "what has gone out, lap " << lap;
  }

  // Not beside a promotion or a fork: nobody may unmap memory and map other at its place in the middle of one. Right
  // before and after it the adapter has the chunk, which is promoted at first.
  void map_again(char* place, int lap) {
    wanted_ = true;
    const std::unique_lock alone(changes_);
    wanted_ = false;
    ASSERT_EQ(both_.process.promote(place), Refusal::kNone);
    transfer_once(place, kChunkBytes, place, kBody, lap);
    expect_sums();
    // Not in two steps: other threads map memory, too.
    void* const memory = mmap(words_, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ASSERT_EQ(memory, words_);
    sums_ = {};
    transfer_once(place, kChunkBytes, place, kBody, lap);
  }

  // Until it is wanted, which would never be alone otherwise.
  std::shared_lock<std::shared_mutex> stay() {
    while (wanted_) std::this_thread::yield();
    return std::shared_lock(changes_);
  }

  void expect_sums() {
    for (std::size_t number = 0; number < kChunks; ++number) ASSERT_EQ(*sum(number), sums_[number]) << number;
  }

  void promote() {
    SeededRandom random(2);
    while (!stop_) {
      const auto stays = stay();
      const Refusal refusal = both_.process.promote(chunk(random.below(kChunks)));
      EXPECT_TRUE(refusal == Refusal::kNone || refusal == Refusal::kPinned) << text_of(refusal);
      if (refusal == Refusal::kNone) promoted_.fetch_add(1);
    }
  }

  void fork_often() {
    while (!stop_) {
      const auto stays = stay();
      direct::NeighbourProcess child([this] {
        for (std::size_t number = 0; number < kChunks; ++number) std::memset(chunk(number), 0xee, kChunkBytes);
        return 0;
      });
      EXPECT_EQ(child.end(), 0);
      forks_.fetch_add(1);
    }
  }

  // A neighbour where it can, and the program.
  void add() {
    std::string error;
    direct::ControlMemory theirs =
        direct::ControlMemory::attach(FileDescriptor(dup(both_.process.memory->control().descriptor())), error);
    const direct::ControlHeader& header = theirs.header();
    direct::NeighbourMemory memory(std::move(theirs), 1);
    while (!stop_) {
      const auto stays = stay();
      if (memory.needs_file()) {
        const std::uint64_t number = header.file;  // before the descriptor: it is not of an older file
        memory.use_file(number, FileDescriptor(dup(both_.process.memory->file_descriptor())), error);
      }
      for (std::size_t number = 0; number < kChunks; ++number) {
        direct::increment(sum(number));
        ++sums_[number];
        if (!direct::add_directly(memory, address_of(sum(number)), 1)) continue;
        ++sums_[number];
        added_.fetch_add(1);
      }
    }
  }

  const std::uint64_t laps_;
  RegisteredProcess both_;
  std::uint64_t* const words_ = map_words(kBytes);
  std::shared_mutex changes_;
  std::atomic<bool> wanted_{false}, stop_{false};
  std::atomic<std::uint64_t> promoted_{0}, forks_{0}, added_{0};
  std::array<std::uint64_t, kChunks> sums_{};
  std::array<char, kChunkBytes> data_{};
};

TEST(MovedMemoryStress, NotOneWrongByte) {
  in_a_registered_process([] {
    Turmoil turmoil(repetitions(2000));
    turmoil.run();
  });
}

}  // namespace
}  // namespace openlapi::verbs
