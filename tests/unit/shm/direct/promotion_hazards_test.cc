// What must not be promoted, when nothing can be, and forks.
#include <linux/futex.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <climits>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <thread>

#include "tests/support/forbidden_call.h"
#include "tests/support/no_descriptors.h"
#include "tests/support/sanitizers.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {
namespace {

// Until the thread is in this system call.
void await_call(pid_t thread, long call) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
  for (std::string now; now != std::to_string(call); std::this_thread::yield()) std::ifstream(path) >> now;
}

void wait_for_futex(std::uint32_t* word, int operation) { syscall(SYS_futex, word, operation, 0, nullptr, nullptr, 0); }
void wake_futex(std::uint32_t* word, int operation) {
  syscall(SYS_futex, word, operation, INT_MAX, nullptr, nullptr, 0);
}

// A thread with a variable on its stack, until it is let go.
struct StackThread {
  std::atomic<std::uint64_t*> variable{nullptr};
  std::atomic<bool> stop{false};
  std::atomic<pid_t> number{0};
  std::thread thread{[this] {
    std::uint64_t here = 1;
    number = static_cast<pid_t>(syscall(SYS_gettid));
    variable = &here;
    while (!stop) std::this_thread::yield();
  }};

  StackThread() {
    while (variable == nullptr) std::this_thread::yield();
  }
};

TEST(PromotionHazards, ThreadControlBlocksStayPrivate) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    StackThread one;
    EXPECT_EQ(process.memory->promote(address_of(reinterpret_cast<void*>(one.thread.native_handle()))),
              Refusal::kKeptPrivate);
    EXPECT_EQ(process.memory->promote(address_of(reinterpret_cast<void*>(pthread_self()))), Refusal::kKeptPrivate);
    one.stop = true;
    one.thread.join();
  });
}

TEST(PromotionHazards, JoiningGoesOnBesidePromotion) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    for (std::uint64_t round = repetitions(100); round > 0; --round) {
      StackThread one;
      std::atomic<pid_t> joining{0};
      std::thread joiner([&] {
        joining = static_cast<pid_t>(syscall(SYS_gettid));
        one.thread.join();
      });
      while (joining == 0) std::this_thread::yield();
      await_call(joining, SYS_futex);
      const Refusal refusal = process.promote(one.variable);
      EXPECT_TRUE(refusal == Refusal::kNone || refusal == Refusal::kKeptPrivate) << text_of(refusal);
      process.memory->promote(address_of(one.variable) - 2 * kChunkBytes);  // of the same stack
      one.stop = true;
      joiner.join();
    }
  });
}

TEST(PromotionHazards, AWaiterForASharedFutexKeepsItsMemory) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    for (const bool is_private : {false, true}) {
      auto* const word = reinterpret_cast<std::uint32_t*>(map_words(kChunkBytes));
      const int flag = is_private ? FUTEX_PRIVATE_FLAG : 0;
      std::atomic<pid_t> waiting{0};
      std::thread waiter([&] {
        waiting = static_cast<pid_t>(syscall(SYS_gettid));
        wait_for_futex(word, FUTEX_WAIT | flag);
      });
      while (waiting == 0) std::this_thread::yield();
      await_call(waiting, SYS_futex);
      EXPECT_EQ(process.promote(word), is_private ? Refusal::kNone : Refusal::kFutex);
      wake_futex(word, FUTEX_WAKE | flag);
      waiter.join();
      EXPECT_EQ(process.promote(word), Refusal::kNone);
    }
  });
}

TEST(PromotionHazards, RefusesWhatIsNotOrdinaryMemory) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    const auto refusal = [&](int rights, int kind) {
      return process.promote(mmap(nullptr, kChunkBytes, rights, kind | MAP_ANONYMOUS, -1, 0));
    };
    EXPECT_EQ(refusal(PROT_READ, MAP_PRIVATE), Refusal::kOtherKind);
    EXPECT_EQ(refusal(PROT_READ | PROT_WRITE, MAP_SHARED), Refusal::kOtherKind);
    EXPECT_EQ(refusal(PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE), Refusal::kOtherKind);
    EXPECT_EQ(process.memory->promote(0), Refusal::kNotMapped);
    EXPECT_EQ(process.memory->promote(4096), Refusal::kNotMapped);
    EXPECT_EQ(process.promote(process.memory.get()), Refusal::kKeptPrivate) << "our own";
    EXPECT_EQ(process.promote(&process.memory->control().header()), Refusal::kOtherKind);
  });
}

// What would not be in the table stays where it is.
TEST(PromotionHazards, MovesNothingWhenTheTableIsFull) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    char* const memory = reinterpret_cast<char*>(map_words((kMostEntries + 1) * kChunkBytes));
    for (std::uint32_t chunk = 0; chunk < kMostEntries; ++chunk) {
      ASSERT_EQ(process.promote(memory + chunk * kChunkBytes), Refusal::kNone) << chunk;
    }
    char* const one_more = memory + kMostEntries * kChunkBytes;
    EXPECT_EQ(process.promote(one_more), Refusal::kNoRoom);
    EXPECT_FALSE(is_shared(one_more));
    EXPECT_EQ(process.promote(memory), Refusal::kNone) << "it is open already";
    ASSERT_EQ(munmap(memory, kChunkBytes), 0);
    EXPECT_EQ(process.promote(one_more), Refusal::kNone);
  });
}

TEST(PromotionHazards, LeavesTheProgramMappings) {
  in_a_process([] {
    const std::uint64_t address = address_of(map_words(kChunkBytes));
    const KeptRanges kept{};
    const MappingList mappings = MappingList::open();
    Refusal refusal{};
    EXPECT_FALSE(promotable_range(address, kChunkBytes, {kept, mappings, 5}, refusal));
    EXPECT_EQ(refusal, Refusal::kMappings);
    EXPECT_TRUE(promotable_range(address, kChunkBytes, {kept, mappings, most_mappings()}, refusal)) << text_of(refusal);
    std::uint32_t allowed = 0;
    std::ifstream("/proc/sys/vm/max_map_count") >> allowed;
    EXPECT_EQ(most_mappings(), allowed / 2);
  });
}

// The file's pages would not be locked.
TEST(PromotionHazards, LockedMemoryStaysWhereItIs) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(2 * kChunkBytes);
    char* const page = reinterpret_cast<char*>(words) + kChunkBytes / 2;
    ASSERT_EQ(mlock(page, shm::kPage), 0);
    EXPECT_EQ(process.promote(page), Refusal::kLocked);
    EXPECT_EQ(process.promote(words), Refusal::kNone) << "what lies before it is another mapping";
    EXPECT_EQ(process.promote(words + kChunkBytes / 8), Refusal::kNone) << "the next chunk";
    ASSERT_EQ(munlock(page, shm::kPage), 0);
    EXPECT_EQ(process.promote(page), Refusal::kNone);
  });
}

TEST(PromotionHazards, AnOrdinaryUserPromotesAlone) {
  in_a_process([] {
    become_ordinary_user();
    OpenedProcess process;
    if (process.memory->promotes_anytime()) GTEST_SKIP() << "ordinary users have a full userfaultfd here";
    std::uint64_t on_stack = 1, *const words = map_words(kChunkBytes);
    EXPECT_EQ(process.promote(&on_stack), Refusal::kNone);
    EXPECT_EQ(process.promote(words), Refusal::kNone);
    EXPECT_TRUE(process.add(&on_stack) && process.add(words));
    StackThread other;
    EXPECT_EQ(process.promote(map_words(kChunkBytes)), Refusal::kOtherThreads);
    EXPECT_TRUE(process.add(words)) << "what is open stays open";
    other.stop = true;
    other.thread.join();
    EXPECT_EQ(load(words), 2u);
    EXPECT_EQ(on_stack, 2u);
  });
}

void expect_no_start(const char* why) {
  std::string reason;
  EXPECT_FALSE(OpenMemory::start(4, reason));
  EXPECT_NE(reason.find(why), std::string::npos) << reason;
}

TEST(PromotionHazards, SaysWhenFilesAreLimited) {
  in_a_process([] {
    const rlimit limit = {1 << 20, 1 << 20};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    expect_no_start("ulimit -f");
  });
}

TEST(PromotionHazards, SaysWhenUserfaultfdIsForbidden) {
  in_a_process([] {
    become_ordinary_user();  // who may open the device has it nevertheless
    forbid_call(SYS_userfaultfd);
    if (open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) >= 0) GTEST_SKIP() << "ordinary users may open /dev/userfaultfd";
    expect_no_start("userfaultfd is refused");
  });
}

// A neighbour that adds one to the words all the time. It is in the same process, but children do not have its windows.
class AddingNeighbour {
 public:
  AddingNeighbour(OpenedProcess& process, std::vector<std::uint64_t*> words)
      : words_(std::move(words)), added(words_.size()), process_(process), thread_([this] { run(); }) {}
  ~AddingNeighbour() { stop(); }

  void stop() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }
  std::uint64_t total() const { return total_; }

 private:
  const std::vector<std::uint64_t*> words_;

 public:
  std::vector<std::uint64_t> added;

 private:
  void run() {
    std::string error;
    ControlMemory theirs = ControlMemory::attach(FileDescriptor(dup(process_.memory->control().descriptor())), error);
    const ControlHeader& header = theirs.header();
    NeighbourMemory memory(std::move(theirs), 1);
    memory.use_file(header.file, FileDescriptor(dup(process_.memory->file_descriptor())), error);
    while (!stop_) {
      if (memory.needs_file()) {
        const std::uint64_t number = header.file;  // before the descriptor: it is not of an older file
        memory.use_file(number, FileDescriptor(dup(process_.memory->file_descriptor())), error);
      }
      for (std::size_t i = 0; i < words_.size(); ++i) {
        if (!add_directly(memory, address_of(words_[i]), 1)) continue;
        ++added[i];
        total_.fetch_add(1);
      }
    }
  }

  OpenedProcess& process_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> total_{0};
  std::thread thread_;
};

// What a child does with memory that was open: it sees it standing still, and changes its own.
int look_and_change(const std::vector<std::uint64_t*>& words) {
  std::vector<std::uint64_t> seen;
  for (const std::uint64_t* word : words) seen.push_back(load(word));
  for (int turn = 0; turn < 200; ++turn) sched_yield();
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (load(words[i]) != seen[i]) return 1;
    *words[i] = 77;
  }
  return 0;
}

TEST(PromotionHazards, ForkGivesTheChildMemoryOfItsOwn) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    const auto heap = std::make_unique<std::uint64_t>(0);
    std::uint64_t on_stack = 0, own = 0;
    const std::vector<std::uint64_t*> words = {heap.get(), &on_stack, map_words(kChunkBytes)};
    AddingNeighbour neighbour(process, words);
    for (std::uint64_t round = repetitions(50); round > 0; --round) {
      for (std::uint64_t* word : words) ASSERT_EQ(process.promote(word), Refusal::kNone);
      const std::uint64_t before = neighbour.total();
      while (neighbour.total() < before + 100) std::this_thread::yield();
      NeighbourProcess child([&] { return look_and_change(words); });
      for (std::uint64_t* word : words) increment(word);
      ++own;
      ASSERT_EQ(child.end(), 0);
    }
    neighbour.stop();
    for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(*words[i], own + neighbour.added[i]) << i;
  });
}

// A child finds all of it or nothing, and its memory.
TEST(PromotionHazards, ForksMayComeBesideBeginAndEnd) {
  in_a_process(Beside::kThreads, [] {
    std::uint64_t* const words = map_words(kChunkBytes);
    *words = 5;
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> lives{0};
    std::thread other([&] {
      while (!stop) {
        std::string reason;
        const OpenMemory::Pointer memory = OpenMemory::start(4, reason);
        if (!memory) continue;
        memory->promote(address_of(words));
        lives.fetch_add(1);
      }
    });
    for (std::uint64_t round = repetitions(200); round > 0; --round) {
      const std::uint64_t before = lives;
      NeighbourProcess child([&] {
        if (load(words) != 5) return 1;
        *words = 77;
        std::string reason;
        const OpenMemory::Pointer own = OpenMemory::start(4, reason);
        return own && own->promote(address_of(words)) == Refusal::kNone && load(words) == 77 ? 0 : 2;
      });
      ASSERT_EQ(child.end(), 0);
      while (lives == before) std::this_thread::yield();
    }
    stop = true;
    other.join();
    EXPECT_EQ(load(words), 5u);
  });
}

TEST(PromotionHazards, ForkNeedsNoDescriptor) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(2 * kChunkBytes);
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    ASSERT_TRUE(process.add(words, 5));
    for (std::uint64_t value = 5; value < 8; ++value) {
      const NoDescriptors none;
      NeighbourProcess child([&] {
        const bool is_same = load(words) == value;
        *words = 77;
        return is_same ? 0 : 1;
      });
      ASSERT_EQ(child.end(), 0);
      EXPECT_NE(process.promote(words), Refusal::kNone) << "what may not be promoted cannot be found out";
      increment(words);
    }
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    process.meet();
    EXPECT_TRUE(process.add(words));
    EXPECT_EQ(load(words), 9u);
  });
}

// With its file it has lost the last descriptor to somebody else.
TEST(PromotionHazards, BeginsAFileOnceItCan) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    const rlimit small = {1 << 20, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int life = 0; life < 3; ++life) {
      NeighbourProcess child([&] { return load(words) == 0 ? 0 : 1; });
      ASSERT_EQ(child.end(), 0);
      EXPECT_EQ(process.promote(words), Refusal::kSystem);
    }
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
    EXPECT_EQ(process.promote(words), Refusal::kNone);
    process.meet();
    EXPECT_TRUE(process.add(words));
  });
}

TEST(PromotionHazards, AChildMayOpenItsMemory) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    ASSERT_TRUE(process.add(words, 0));
    NeighbourProcess child([&] {
      OpenedProcess own;
      EXPECT_EQ(own.promote(words), Refusal::kNone);
      EXPECT_TRUE(own.add(words, 5));
      return load(words) == 5 ? 0 : 1;
    });
    EXPECT_EQ(child.end(), 0);
    EXPECT_EQ(load(words), 0u);
    EXPECT_TRUE(process.neighbour->needs_file());
    struct stat status {};
    ASSERT_EQ(fstat(process.memory->file_descriptor(), &status), 0);
    EXPECT_EQ(status.st_blocks, 0) << "what the child has goes with it";
    process.meet();
    EXPECT_FALSE(process.add(words)) << "after a fork all is private";
    EXPECT_EQ(process.promote(words), Refusal::kNone);
    EXPECT_TRUE(process.add(words));
  });
}

TEST(PromotionHazards, StartingAProgramIsNoFork) {
  in_a_process(Beside::kNobody, [] {
    OpenedProcess process;
    std::uint64_t* const words = map_words(kChunkBytes);
    ASSERT_EQ(process.promote(words), Refusal::kNone);
    const char* const arguments[] = {"true", nullptr};
    pid_t started = 0;
    ASSERT_EQ(posix_spawnp(&started, "true", nullptr, nullptr, const_cast<char* const*>(arguments), environ), 0);
    int status = 1;
    EXPECT_EQ(waitpid(started, &status, 0), started);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(process.add(words));
  });
}

// Stacks that end, are kept by the C library and used again.
TEST(PromotionHazards, ThreadsMayEndWithTheirStacksOpen) {
  in_a_process(Beside::kThreads, [] {
    OpenedProcess process;
    for (std::uint64_t round = repetitions(100); round > 0; --round) {
      StackThread one;
      std::uint64_t* const variable = one.variable;
      if (process.promote(variable) == Refusal::kNone) {
        ASSERT_TRUE(process.add(variable));
        ASSERT_EQ(load(variable), 2u);
      }
      one.stop = true;
      one.thread.join();
    }
  });
}

}  // namespace
}  // namespace openlapi::direct
