// RDMA READ between the devices of the soft-RoCE bed: right bytes whatever the process did to its memory, and an ending
// for every read whatever fails.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <ios>
#include <sstream>
#include <string>
#include <vector>

#include "tests/beds/verbs_pulls.h"

namespace openlapi::test {
namespace {

[[maybe_unused]] const bool kWithBulk = bed_has_bulk = true;

TEST(VerbsBulk, ReadsOfManyLengths) {
  VerbsPair pair;
  EXPECT_EQ(pair.left->capabilities().bulk_memory->longest_read(), 32u << 20);
  std::vector<char> source(64 << 20), sink(source.size() + 2);
  fill(source.data(), source.size(), 1);
  for (const std::size_t length :
       {1ul, 7ul, 4095ul, 4096ul, 4097ul, 150'000ul, 1ul << 20, (8ul << 20) + 1, 64ul << 20}) {
    std::fill(sink.begin(), sink.end(), 0);
    ASSERT_TRUE(pull_exposed(pair, source.data() + source.size() - length, sink.data() + 1, length)) << length;
    EXPECT_EQ(std::memcmp(sink.data() + 1, source.data() + source.size() - length, length), 0) << length;
    EXPECT_EQ(sink[0], 0);
    EXPECT_EQ(sink[length + 1], 0);
  }
  const verbs::BulkCounters& counters = pair.left->bulk()->counters();
  EXPECT_EQ(counters.connections_made, 1u);
  EXPECT_EQ(counters.reads_failed, 0u);
  EXPECT_GE(counters.bytes_read, 72u << 20);
}

// Packets that the kernel threw away because a processor had too many to take.
std::uint64_t overruns() {
  std::uint64_t sum = 0;
  std::ifstream file("/proc/net/softnet_stat");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::uint64_t taken = 0, dropped = 0;
    words >> std::hex >> taken >> dropped;
    sum += dropped;
  }
  return sum;
}

TEST(VerbsBulk, LongReadsOverrunNoQueue) {
  std::vector<char> source(64 << 20), sink(source.size());
  fill(source.data(), source.size(), 2);
  for (const std::uint32_t mtu : {4096u, 1024u}) {  // the other end's: the smaller one rules
    VerbsPair pair(4096, mtu);
    std::fill(sink.begin(), sink.end(), 0);
    MemoryKey key;
    ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
    const std::uint64_t before = overruns();
    const Outcome outcome = pull(
        *pair.left, 1, address(source.data()), key, sink.data(), source.size(), [&] { empty(*pair.right); }, 32 << 20);
    EXPECT_EQ(outcome.done, 2u) << mtu;
    EXPECT_EQ(overruns(), before) << mtu;
    EXPECT_TRUE(sink == source) << mtu;
    pair.right->capabilities().bulk_memory->withdraw(key);
  }
}

TEST(VerbsBulk, ReadsAreRefusedWhenThereAreManyAndGoOn) {
  VerbsPair pair;
  std::vector<char> source(1000 * 4096), sink(source.size());
  fill(source.data(), source.size(), 3);
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
  const Outcome outcome = pull(
      *pair.left, 1, address(source.data()), key, sink.data(), source.size(), [&] { empty(*pair.right); }, 4096);
  EXPECT_EQ(outcome.done, 1000u);
  EXPECT_TRUE(sink == source);
  pair.right->capabilities().bulk_memory->withdraw(key);
  EXPECT_EQ(pair.left->capabilities().bulk_memory->begin_read(1, 0, key, sink.data(), (32u << 20) + 1, 0, {}),
            Begin::failed);
  EXPECT_EQ(pair.left->capabilities().bulk_memory->begin_read(1, 0, key, sink.data(), 0, 0, {}), Begin::failed);
  EXPECT_EQ(pair.left->capabilities().bulk_memory->begin_read(7, 0, key, sink.data(), 1, 0, {}), Begin::failed)
      << "nobody";
}

TEST(VerbsBulk, KeysLeadToTheAdapterThatGaveThem) {
  VerbsPair pair;
  BulkMemory& left = *pair.left->capabilities().bulk_memory;
  BulkMemory& right = *pair.right->capabilities().bulk_memory;
  std::vector<char> memory(8192);
  MemoryKey of_left, of_right;
  ASSERT_TRUE(left.expose(memory.data(), memory.size(), of_left));
  ASSERT_TRUE(right.expose(memory.data(), memory.size(), of_right));
  EXPECT_TRUE(left.leads_to(1, of_right));
  EXPECT_FALSE(left.leads_to(1, of_left));
  EXPECT_TRUE(right.leads_to(0, of_left));
  EXPECT_FALSE(left.leads_to(7, of_right)) << "nobody";
  left.withdraw(of_left);
  right.withdraw(of_right);
}

TEST(VerbsBulk, APlaceThatIsReadToInPartsIsRegisteredOnce) {
  VerbsPair pair;
  std::vector<char> source(8 << 20), sink(source.size());
  fill(source.data(), source.size(), 5);
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
  const Outcome outcome = pull(
      *pair.left, 1, address(source.data()), key, sink.data(), source.size(), [&] { empty(*pair.right); }, 1 << 20,
      true);
  EXPECT_EQ(outcome.done, 8u);
  EXPECT_TRUE(sink == source);
  EXPECT_EQ(pair.left->bulk()->registrations().counters().misses, 1u);
  pair.right->capabilities().bulk_memory->withdraw(key);
}

constexpr std::size_t kBytes = 1 << 20;

char* map(void* where = nullptr) {
  void* const memory = mmap(where, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | (where != nullptr ? MAP_FIXED : 0), -1, 0);
  EXPECT_NE(memory, MAP_FAILED);
  return static_cast<char*>(memory);
}

void fork_and_write(char* memory) {
  const pid_t child = fork();
  if (child == 0) {
    std::memset(memory, 0xee, kBytes);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
}

// Memory that is registered already is changed in every way that keeps or brings back its address.
struct Change {
  const char* name;
  std::function<char*(char*)> make;  // gives the place of the memory afterwards
};

const std::vector<Change> kChanges = {
    {"nothing", [](char* memory) { return memory; }},
    {"munmap and mmap", [](char* memory) { return munmap(memory, kBytes), map(memory); }},
    {"mmap over it", [](char* memory) { return map(memory); }},
    {"MADV_DONTNEED", [](char* memory) { return madvise(memory, kBytes, MADV_DONTNEED), memory; }},
    {"MADV_DONTNEED of one page", [](char* memory) { return madvise(memory + 40960, 4096, MADV_DONTNEED), memory; }},
    {"mremap to less and back",
     [](char* memory) {
       EXPECT_EQ(mremap(memory, kBytes, kBytes / 2, 0), memory);
       return static_cast<char*>(mremap(memory, kBytes / 2, kBytes, MREMAP_MAYMOVE));
     }},
    {"mremap of another to it",
     [](char* memory) {
       return static_cast<char*>(mremap(map(), kBytes, kBytes, MREMAP_MAYMOVE | MREMAP_FIXED, memory));
     }},
    {"fork", [](char* memory) { return fork_and_write(memory), memory; }},
};

// Each lap changes the memory of both sides, writes new bytes, and pulls.
TEST(VerbsBulk, RightBytesWhateverBecomesOfTheMemory) {
  VerbsPair pair;
  char *source = map(), *sink = map();
  for (std::uint64_t lap = 0; lap < 8 * kChanges.size(); ++lap) {
    const Change& change = kChanges[lap % kChanges.size()];
    source = change.make(source);
    fill(source, kBytes, lap);
    ASSERT_TRUE(pull_exposed(pair, source, sink, kBytes)) << change.name;
    ASSERT_EQ(std::memcmp(source, sink, kBytes), 0) << "the one who is read: " << change.name << ", lap " << lap;
    sink = change.make(sink);
    fill(source, kBytes, lap + 100);
    std::memset(sink, 0, kBytes);
    ASSERT_TRUE(pull_exposed(pair, source, sink, kBytes)) << change.name;
    ASSERT_EQ(std::memcmp(source, sink, kBytes), 0) << "the one who reads: " << change.name << ", lap " << lap;
  }
  for (const VerbsTransport* transport : {pair.left.get(), pair.right.get()}) {
    EXPECT_GT(transport->bulk()->registrations().counters().hits, 0u) << transport->bulk()->registration_text();
    EXPECT_GT(transport->bulk()->registrations().counters().invalidated, 0u);
  }
}

TEST(VerbsBulk, RightBytesInBlocksThatWereFreed) {
  VerbsPair pair;
  std::vector<char> sink(300'000);
  int same = 0;
  const char* before = nullptr;
  for (std::uint64_t lap = 0; lap < 200; ++lap) {
    char* const source = static_cast<char*>(malloc(300'000));
    same += source == before;
    before = source;
    fill(source, sink.size(), lap);
    ASSERT_TRUE(pull_exposed(pair, source, sink.data(), sink.size()));
    ASSERT_EQ(std::memcmp(source, sink.data(), sink.size()), 0) << lap;
    free(source);
  }
  EXPECT_GT(same, 0);
}

TEST(VerbsBulk, WithoutAMonitorNothingStaysRegistered) {
  VerbsPair pair;
  void* const shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  std::vector<char> sink(kBytes);
  for (std::uint64_t lap = 0; lap < 20; ++lap) {
    fill(shared, kBytes, lap);
    ASSERT_TRUE(pull_exposed(pair, shared, sink.data(), kBytes));
    ASSERT_EQ(std::memcmp(shared, sink.data(), kBytes), 0);
    EXPECT_EQ(pair.right->bulk()->registrations().entries(), 0u);
    ASSERT_EQ(madvise(shared, kBytes, MADV_REMOVE), 0);
  }
  munmap(shared, kBytes);
}

TEST(VerbsBulk, MemoryThatIsNotThereOrCannotBeWritten) {
  VerbsPair pair;
  MemoryKey key;
  EXPECT_FALSE(pair.right->capabilities().bulk_memory->expose(reinterpret_cast<void*>(64 << 20), 4096, key));
  char* const memory = map();
  fill(memory, kBytes, 1);
  ASSERT_EQ(mprotect(memory, kBytes, PROT_READ), 0);
  std::vector<char> sink(kBytes);
  EXPECT_TRUE(pull_exposed(pair, memory, sink.data(), kBytes)) << "reading does not need more";
  EXPECT_EQ(std::memcmp(memory, sink.data(), kBytes), 0);
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(sink.data(), kBytes, key));
  EXPECT_EQ(pair.left->capabilities().bulk_memory->begin_read(1, address(sink.data()), key, memory, kBytes, 1, {}),
            Begin::failed);
  pair.right->capabilities().bulk_memory->withdraw(key);
  munmap(memory, kBytes);
}

TEST(VerbsBulk, AWrongKeyFailsAndTheNextReadIsRight) {
  VerbsPair pair;
  std::vector<char> source(kBytes), sink(kBytes);
  for (int lap = 0; lap < 5; ++lap) {
    MemoryKey key;
    ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), kBytes, key));
    MemoryKey wrong = key;
    wrong.bytes[0] ^= std::byte{0x55};
    wrong.bytes[1] ^= std::byte{0x55};
    EXPECT_FALSE(pull_all(pair, source.data(), wrong, sink.data(), 5000));
    EXPECT_FALSE(pull_all(pair, source.data() - (1 << 30), key, sink.data(), 5000)) << "outside of what was exposed";
    pair.right->capabilities().bulk_memory->withdraw(key);
    EXPECT_TRUE(recovers(pair));
  }
  EXPECT_EQ(pair.left->bulk()->counters().connections_broken, 10u);
}

TEST(VerbsBulk, AQueuePairInErrorIsReplaced) {
  VerbsPair pair;
  std::vector<char> source(16 << 20), sink(source.size());
  fill(source.data(), source.size(), 5);
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
  for (int lap = 0; lap < 5; ++lap) {
    ASSERT_TRUE(recovers(pair));
    bool broken = false;
    const Outcome outcome = pull(*pair.left, 1, address(source.data()), key, sink.data(), source.size(), [&] {
      empty(*pair.right);
      ibv_qp_attr state{};
      state.qp_state = IBV_QPS_ERR;
      if (!broken) {
        ASSERT_EQ(ibv_modify_qp(pair.left->bulk()->queue_pair_to(1), &state, IBV_QP_STATE), 0);
      }
      broken = true;
    });
    EXPECT_GT(outcome.failed, 0u);
    ASSERT_TRUE(recovers(pair));
    EXPECT_TRUE(pair.left->capabilities().bulk_memory->reachable(1));
  }
  ASSERT_TRUE(pull_all(pair, source.data(), key, sink.data(), source.size()));
  EXPECT_TRUE(sink == source);
  pair.right->capabilities().bulk_memory->withdraw(key);
}

TEST(VerbsBulk, AnInterfaceThatIsDownFailsReadsUntilItIsUp) {
  VerbsPair pair;
  ASSERT_TRUE(recovers(pair));
  std::vector<char> source(16 << 20), sink(source.size());
  for (const char* link : {"rdma0", "rdma1"}) {
    MemoryKey key;
    ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
    bool down = false;
    const auto pull_while_it_goes_down = [&] {
      return pull(*pair.left, 1, address(source.data()), key, sink.data(), source.size(), [&] {
        empty(*pair.right);
        if (!down) command(std::string("ip link set ") + link + " down");
        down = true;
      });
    };
    Outcome outcome = pull_while_it_goes_down();
    if (outcome.failed + outcome.refused == 0) outcome = pull_while_it_goes_down();  // the reads were faster
    EXPECT_GT(outcome.failed + outcome.refused, 0u);
    pair.right->capabilities().bulk_memory->withdraw(key);
    command(std::string("ip link set ") + link + " up");
    ASSERT_TRUE(wait_for_port("rxe0", "ACTIVE") && wait_for_port("rxe1", "ACTIVE"));
    EXPECT_TRUE(recovers(pair)) << link;
  }
}

// A process with memory that can be read, on the second device, until it is killed.
class OtherTask {
 public:
  struct Facts {
    PeerAddress address;
    std::uint64_t memory = 0;
    MemoryKey key;
  };

  // `contents`: of its memory; copied there, since filling it anew takes an emulated machine much longer.
  OtherTask(const PeerAddress& reader, const std::vector<char>& contents) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    child_ = fork();
    if (child_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      VerbsSetupError error;
      const VerbsPointer transport = open_on("rxe1", error);
      std::string reason;
      if (!transport || !added(*transport, 0, reader, reason)) _exit(1);
      std::vector<char> memory(contents);
      Facts facts{transport->local_address(), address(memory.data()), {}};
      if (!transport->capabilities().bulk_memory->expose(memory.data(), memory.size(), facts.key)) _exit(1);
      if (write(ends[1], &facts, sizeof facts) != sizeof facts) _exit(1);
      for (;;) empty(*transport);
    }
    close(ends[1]);
    EXPECT_EQ(read(ends[0], &facts_, sizeof facts_), static_cast<ssize_t>(sizeof facts_));
    close(ends[0]);
  }
  ~OtherTask() { end(); }

  void end() {
    if (child_ <= 0) return;
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }
  const Facts& facts() const { return facts_; }

 private:
  pid_t child_ = 0;
  Facts facts_;
};

TEST(VerbsBulk, APeerThatIsKilledInTheMiddle) {
  const VerbsPointer left = open_well("rxe0");
  std::vector<char> sink(64 << 20), expected(sink.size());
  fill(expected.data(), expected.size(), 9);
  std::string error;
  for (int lap = 0; lap < 3; ++lap) {
    OtherTask other(left->local_address(), expected);
    ASSERT_TRUE(added(*left, 1, other.facts().address, error)) << error;
    const std::uint64_t before = left->bulk()->counters().reads_done;
    const Outcome outcome = pull(*left, 1, other.facts().memory, other.facts().key, sink.data(), sink.size(), [&] {
      if (left->bulk()->counters().reads_done - before >= 5) other.end();
    });
    EXPECT_GE(outcome.done, 5u);
    EXPECT_GT(outcome.failed + outcome.refused, 0u);
    EXPECT_EQ(outcome.done + outcome.failed + outcome.refused, 64u);
    EXPECT_EQ(std::memcmp(sink.data(), expected.data(), 1 << 20), 0) << "what had arrived is right";
  }
  OtherTask other(left->local_address(), expected);
  ASSERT_TRUE(added(*left, 1, other.facts().address, error)) << error;
  const Outcome outcome = pull(*left, 1, other.facts().memory, other.facts().key, sink.data(), sink.size(), [] {});
  EXPECT_EQ(outcome.done, 64u) << "another one at its place";
  EXPECT_TRUE(sink == expected);
}

TEST(VerbsBulk, OneThatNeverAnswersIsGivenUpForAWhile) {
  const VerbsPointer left = open_well("rxe0"), silent = open_well("rxe1");
  std::string error;
  ASSERT_TRUE(added(*left, 1, silent->local_address(), error));
  ASSERT_TRUE(added(*silent, 0, left->local_address(), error));
  char sink = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(left->capabilities().bulk_memory->reachable(1));
    const Outcome outcome = pull(*left, 1, 4096, {}, &sink, 1, [] {});
    EXPECT_EQ(outcome.failed, 1u);
  }
  EXPECT_FALSE(left->capabilities().bulk_memory->reachable(1));
  EXPECT_EQ(left->capabilities().bulk_memory->begin_read(1, 4096, {}, &sink, 1, 1, {}), Begin::failed);
  EXPECT_TRUE(wait_for([&] { return left->capabilities().bulk_memory->reachable(1); })) << "only for a while";
}

TEST(VerbsBulk, ConnectionsAreBounded) {
  VerbsConfig config;
  config.port.device = "rxe0";
  config.bulk = true;
  config.bulk_limits.connections = 2;
  VerbsSetupError error;
  const VerbsPointer left = open_verbs_transport(config, error);
  ASSERT_NE(left, nullptr) << error.text;
  std::vector<VerbsPointer> others;
  std::string reason;
  std::vector<char> source(5000), sink(5000);
  for (PeerIndex i = 1; i <= 4; ++i) {
    others.push_back(open_well("rxe1"));
    ASSERT_TRUE(added(*left, i, others.back()->local_address(), reason));
    ASSERT_TRUE(added(*others.back(), 0, left->local_address(), reason));
  }
  for (std::uint64_t lap = 0; lap < 12; ++lap) {
    VerbsTransport& other = *others[lap % 4];
    MemoryKey key;
    fill(source.data(), source.size(), lap);
    ASSERT_TRUE(other.capabilities().bulk_memory->expose(source.data(), source.size(), key));
    const Outcome outcome = pull(*left, static_cast<PeerIndex>(1 + lap % 4), address(source.data()), key, sink.data(),
                                 source.size(), [&] { empty(other); });
    EXPECT_EQ(outcome.done, 1u);
    EXPECT_TRUE(sink == source);
    other.capabilities().bulk_memory->withdraw(key);
  }
  EXPECT_EQ(left->bulk()->counters().connections_made, 12u);
  EXPECT_EQ(left->bulk()->counters().connections_closed, 10u);
  EXPECT_EQ(left->bulk()->counters().connections_broken, 0u);
}

TEST(VerbsBulk, TwoJobsAtOnce) {
  VerbsPair one, other;
  std::vector<char> source(2 << 20), second(2 << 20), sink(2 << 20);
  fill(source.data(), source.size(), 1);
  fill(second.data(), second.size(), 2);
  for (int lap = 0; lap < 10; ++lap) {
    ASSERT_TRUE(pull_exposed(one, source.data(), sink.data(), sink.size()));
    ASSERT_TRUE(sink == source);
    ASSERT_TRUE(pull_exposed(other, second.data(), sink.data(), sink.size()));
    ASSERT_TRUE(sink == second);
  }
}

// Enough for packets, not for bulk. The devices are opened afterwards: the kernel refuses who changes its user later.
TEST(VerbsBulk, AnOrdinaryUserWithLittleLockedMemoryIsRefused) {
  in_child([] {
    constexpr std::size_t kLocked = 32 << 20;
    const rlimit little{kLocked, kLocked};
    ASSERT_EQ(setrlimit(RLIMIT_MEMLOCK, &little), 0);
    become_ordinary_user();
    VerbsPair pair;
    std::vector<char> memory(2 * kLocked), sink(4096);
    MemoryKey key;
    EXPECT_FALSE(pair.right->capabilities().bulk_memory->expose(memory.data(), memory.size(), key));
    EXPECT_GT(pair.right->bulk()->registrations().counters().refused, 0u);
    ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, 5)) << "packets go on";
    EXPECT_TRUE(pull_exposed(pair, memory.data(), sink.data(), sink.size())) << "and so does what has room";
  });
}

TEST(VerbsBulk, ASleeperIsWokenByTheEndOfARead) {
  VerbsPair pair;
  std::vector<char> source(8 << 20), sink(source.size());
  MemoryKey key;
  ASSERT_TRUE(pair.right->capabilities().bulk_memory->expose(source.data(), source.size(), key));
  ASSERT_TRUE(recovers(pair));
  WakeSource& wake = *pair.left->capabilities().wake_source;
  for (int lap = 0; lap < 3; ++lap) {
    ASSERT_EQ(pair.left->capabilities().bulk_memory->begin_read(1, address(source.data()), key, sink.data(),
                                                                source.size(), 77, {}),
              Begin::begun);
    if (wake.arm()) {
      pollfd waiting{wake.descriptor(), POLLIN, 0};
      EXPECT_EQ(poll(&waiting, 1, 20'000), 1);
      wake.disarm();
    }
    BulkMemory::Ending ending{};
    ASSERT_TRUE(wait_for([&] { return pair.left->capabilities().bulk_memory->take_endings({&ending, 1}) == 1; }));
    EXPECT_TRUE(ending.done);
    EXPECT_EQ(ending.token, 77u);
  }
  pair.right->capabilities().bulk_memory->withdraw(key);
}

}  // namespace
}  // namespace openlapi::test
