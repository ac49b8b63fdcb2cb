// Reading the memory of processes that compute, sleep, are stopped, have become another program, or are gone.
#include "shm/direct/unattended_memory.h"

#include <limits.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdio>
#include <vector>

#include "tests/support/forbidden_call.h"
#include "tests/unit/shm/direct/opened_memory.h"

namespace openlapi::direct {
namespace {

constexpr std::size_t kBytes = 64 << 10;
constexpr std::size_t kLengths[] = {1, 2, 4, 7, 8, 9, 64, 65, 4095, 4096, 4097, 16383, 16384, 16385};

std::byte pattern(std::size_t place) { return static_cast<std::byte>(place * 7 + place / 251 + 1); }

std::byte* new_bytes() {
  void* const memory = mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<std::byte*>(memory);
  for (std::size_t place = 0; place < kBytes; ++place) bytes[place] = pattern(place);
  EXPECT_EQ(mprotect(bytes + kBytes, kBytes, PROT_NONE), 0);  // nothing can be read behind them
  return bytes;
}

struct Told {
  std::atomic<std::uint64_t> bytes = 0, proof_address = 0, proof = 0;
  std::atomic<int> process = 0;  // of a child; set last
  std::atomic<bool> ready = false, go_on = false;
};

class UnattendedRead : public testing::Test {
 protected:
  // A process that has memory and a proof, and does what `then` does.
  NeighbourProcess target(std::function<void()> then) {
    return NeighbourProcess([this, then] {
      const OwnProof proof;
      told_.bytes = address_of(new_bytes());
      told_.proof_address = proof.address();
      told_.proof = proof.value();
      told_.ready = true;
      then();
      return 0;
    });
  }
  static void compute() {
    for (;;) sched_yield();
  }
  static void sleep() {
    for (;;) pause();
  }
  UnattendedMemory memory_of(pid_t process) {
    while (!told_.ready) sched_yield();
    return {process, told_.proof_address, told_.proof};
  }
  void expect_all_lengths(UnattendedMemory& memory) {
    for (const std::size_t length : kLengths) {
      for (const std::size_t begin : {std::size_t{0}, std::size_t{1}, kBytes - length}) {
        std::vector<std::byte> seen(length + 1, std::byte{0xee});
        ASSERT_TRUE(memory.read(told_.bytes + begin, seen.data(), length)) << length;
        for (std::size_t place = 0; place < length; ++place) ASSERT_EQ(seen[place], pattern(begin + place)) << length;
        ASSERT_EQ(seen[length], std::byte{0xee}) << "written beyond the buffer";
      }
    }
  }
  void expect_ended(UnattendedMemory& memory, std::uint64_t address) {
    std::uint64_t seen = 0;
    EXPECT_FALSE(memory.read(address, &seen, sizeof seen));
    EXPECT_TRUE(memory.has_ended());
  }

  Told& told_ = shared_contents<Told>();
};

TEST_F(UnattendedRead, BringsEachLengthFromWhoComputes) {
  const NeighbourProcess process = target(compute);
  UnattendedMemory memory = memory_of(process.number());
  expect_all_lengths(memory);
}

TEST_F(UnattendedRead, BringsEachLengthFromWhoSleeps) {
  const NeighbourProcess process = target(sleep);
  UnattendedMemory memory = memory_of(process.number());
  expect_all_lengths(memory);
}

TEST_F(UnattendedRead, BringsEachLengthFromWhoIsStopped) {
  const NeighbourProcess process = target([] { raise(SIGSTOP); });
  UnattendedMemory memory = memory_of(process.number());
  process.await_stop();
  expect_all_lengths(memory);
}

// Nothing is wrong with the process then: what is there can be read as before.
TEST_F(UnattendedRead, MemoryThatIsNotThereIsNotRead) {
  const NeighbourProcess process = target(sleep);
  UnattendedMemory memory = memory_of(process.number());
  std::vector<std::byte> seen(kBytes);
  for (const std::size_t length : kLengths) {
    EXPECT_FALSE(memory.read(told_.bytes + kBytes, seen.data(), length)) << length;
    EXPECT_FALSE(memory.read(told_.bytes + kBytes - length / 2, seen.data(), length)) << length;
    EXPECT_FALSE(memory.read(UINT64_MAX - length / 2, seen.data(), length)) << length;
    EXPECT_FALSE(memory.read(UINT64_MAX / 2, seen.data(), length)) << length;
    EXPECT_FALSE(memory.read(0, seen.data(), length)) << length;
  }
  EXPECT_FALSE(memory.has_ended());
  expect_all_lengths(memory);
}

TEST_F(UnattendedRead, SeesWhatWasWrittenBeforeItIsTold) {
  std::atomic<int>& round = shared_contents<std::atomic<int>>();
  const NeighbourProcess process = target([&] {
    for (int done = 0;; ++done) {
      while (round != 2 * done + 1) sched_yield();
      *reinterpret_cast<volatile int*>(static_cast<std::uintptr_t>(told_.bytes)) = done;
      round = 2 * done + 2;
    }
  });
  UnattendedMemory memory = memory_of(process.number());
  for (int done = 0; done < 1000; ++done) {
    round = 2 * done + 1;
    while (round != 2 * done + 2) sched_yield();
    int seen = -1;
    ASSERT_TRUE(memory.read(told_.bytes, &seen, sizeof seen));
    ASSERT_EQ(seen, done);
  }
}

TEST_F(UnattendedRead, WordsAreNeverTorn) {
  const NeighbourProcess process = target([this] {
    auto* const word = reinterpret_cast<std::uint64_t*>(static_cast<std::uintptr_t>(told_.bytes));
    for (std::uint64_t value = 0;; value = ~value) __atomic_store_n(word, value, __ATOMIC_RELAXED);
  });
  UnattendedMemory memory = memory_of(process.number());
  std::uint64_t before = 0;
  while (!memory.read(told_.bytes, &before, sizeof before) || (before != 0 && ~before != 0)) sched_yield();
  for (int times = 0; times < 20'000; ++times) {
    std::uint64_t wide = 1;
    std::uint32_t narrow = 1;
    const bool is_wide = memory.read(told_.bytes, &wide, sizeof wide);
    ASSERT_TRUE(!is_wide || wide == 0 || ~wide == 0) << wide;
    const bool is_narrow = memory.read(told_.bytes + 4, &narrow, sizeof narrow);
    ASSERT_TRUE(!is_narrow || narrow == 0 || ~narrow == 0) << narrow;
  }
  EXPECT_FALSE(memory.has_ended());
}

TEST_F(UnattendedRead, EndsWithTheProcess) {
  NeighbourProcess process = target(sleep);
  UnattendedMemory memory = memory_of(process.number());
  expect_all_lengths(memory);
  kill(process.number(), SIGKILL);
  EXPECT_EQ(process.end(), -SIGKILL);
  expect_ended(memory, told_.bytes);
}

// A child of a fork has all of its parent's memory but for the proof. It may get its number, once that one has ended.
TEST_F(UnattendedRead, ChildOfAForkIsNotTakenForItsParent) {
  const NeighbourProcess process = target([this] {
    const NeighbourProcess child([] {
      sleep();
      return 0;
    });
    told_.process = child.number();
    sleep();
  });
  UnattendedMemory memory = memory_of(process.number());
  while (told_.process == 0) sched_yield();
  UnattendedMemory child = memory_of(told_.process);
  expect_ended(child, told_.bytes);
  expect_all_lengths(memory);
}

// It has the number, and memory at the address, which is another program's.
TEST_F(UnattendedRead, NothingOfAnotherProgramIsBrought) {
  const NeighbourProcess process = target([this] {
    while (!told_.go_on) sched_yield();
    execlp("sleep", "sleep", "1000", nullptr);
  });
  UnattendedMemory memory = memory_of(process.number());
  expect_all_lengths(memory);
  const std::string link = "/proc/" + std::to_string(process.number()) + "/exe";
  const auto program = [&] {
    char name[PATH_MAX] = {};
    return readlink(link.c_str(), name, sizeof name - 1) > 0 ? std::string(name) : std::string();
  };
  const std::string before = program();
  told_.go_on = true;
  while (program() == before) sched_yield();
  // A readable page of the new program.
  const std::string maps = "/proc/" + std::to_string(process.number()) + "/maps";
  std::uint64_t page = 0;
  std::byte there{};
  const auto is_readable = [&] {
    std::FILE* const list = std::fopen(maps.c_str(), "r");
    unsigned long begin = 0;
    const bool found = list != nullptr && std::fscanf(list, "%lx-", &begin) == 1;
    if (list != nullptr) std::fclose(list);
    page = begin;
    const iovec here = {&there, 1}, where = {reinterpret_cast<void*>(begin), 1};
    return found && process_vm_readv(process.number(), &here, 1, &where, 1, 0) == 1;
  };
  while (!is_readable()) sched_yield();
  expect_ended(memory, page);
}

TEST_F(UnattendedRead, EndsWhereTheCallIsForbidden) {
  const NeighbourProcess process = target(sleep);
  UnattendedMemory memory = memory_of(process.number());
  NeighbourProcess reader([&] {
    forbid_call(SYS_process_vm_readv);
    expect_ended(memory, told_.bytes);
    return 0;
  });
  EXPECT_EQ(reader.end(), 0);
}

// As of a process that the yama module protects, or of another user's.
TEST_F(UnattendedRead, EndsWhereTheProcessIsProtected) {
  const NeighbourProcess process = target([] {
    prctl(PR_SET_DUMPABLE, 0);
    raise(SIGSTOP);
  });
  UnattendedMemory memory = memory_of(process.number());
  process.await_stop();
  NeighbourProcess reader([&] {
    if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0)) return 1;
    expect_ended(memory, told_.bytes);
    return 0;
  });
  EXPECT_EQ(reader.end(), 0);
}

TEST_F(UnattendedRead, NobodyReadsAProcessThatHasNoProof) {
  const NeighbourProcess process = target(sleep);
  memory_of(process.number());
  UnattendedMemory memory(process.number(), 0, told_.proof);
  std::uint64_t seen = 0;
  EXPECT_FALSE(memory.read(told_.bytes, &seen, sizeof seen));
}

}  // namespace
}  // namespace openlapi::direct
