// Direct access as a transport gives it: two processes that share memory, one reaches what the other has been asked
// for.
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>

#include "shm/shm_transport.h"
#include "tests/support/transport_tasks.h"
#include "tests/unit/shm/direct/late_memory.h"
#include "tests/unit/shm/direct/opened_process.h"

namespace openlapi::direct {
namespace {

constexpr PeerIndex kOwner = 0, kNeighbour = 1;
constexpr unsigned kOften = 32;

// What both know. Steps: each side waits for those of the other one.
struct Known {
  std::atomic<int> owner_step = 0, neighbour_step = 0;
  std::atomic<std::uint64_t> words = 0, counter = 0;
  std::atomic<pid_t> neighbour = 0;
};

class DirectTransport : public testing::Test {
 protected:
  using Part = std::function<void(ShmTransport&, DirectMemory&)>;

  // Runs both parts, each in a process of its own.
  void run(const Part& owner, const Part& neighbour, DirectUse use = DirectUse::kAll) {
    in_a_process(Beside::kThreads, [&] {
      const std::uint64_t cookie = test::fresh_cookie();
      NeighbourProcess other([&] {
        run_task(cookie, kNeighbour, DirectUse::kAll, neighbour);
        return 0;
      });
      run_task(cookie, kOwner, use, owner);
      EXPECT_EQ(other.end(), 0);
    });
  }

  void owner_comes_to(int step) { known_.owner_step = step; }
  void neighbour_comes_to(int step) { known_.neighbour_step = step; }
  void await_owner(int step) const {
    while (known_.owner_step < step) sched_yield();
  }
  void await_neighbour(int step) const {
    while (known_.neighbour_step < step) sched_yield();
  }

  // In the owner: two chunks, for words and a counter, which the neighbour has asked for often.
  std::uint64_t* open_words(DirectMemory& memory, unsigned asked = kOften) {
    std::uint64_t* const words = map_words(2 * kChunkBytes);
    known_.words = address_of(words);
    known_.counter = address_of(words) + kChunkBytes;
    for (unsigned time = 0; time < asked; ++time) ask(memory);
    return words;
  }
  void ask(DirectMemory& memory) {
    memory.asked_for(known_.words);
    memory.asked_for(known_.counter);
  }
  int counter() const { return *reinterpret_cast<const int*>(static_cast<std::uintptr_t>(known_.counter)); }

  bool put(DirectMemory& memory, std::uint64_t value, std::uint64_t counter = 0) {
    return memory.put(kOwner, known_.words, &value, sizeof value, counter);
  }

  void put_and_stop(DirectMemory& memory);
  void await_stop() const;
  void let_go_on() const { EXPECT_EQ(kill(known_.neighbour, SIGCONT), 0); }

  Known& known_ = shared_contents<Known>();

 private:
  static void run_task(std::uint64_t cookie, PeerIndex self, DirectUse use, const Part& part) {
    ShmSetupError error;
    const auto transport =
        open_shm_transport({.cookie = cookie, .self = self, .local_tasks = {kOwner, kNeighbour}, .direct = use}, error);
    ASSERT_NE(transport, nullptr) << error.reason;
    std::string reason;
    ASSERT_TRUE(transport->add_peer(1 - self, transport->address_of(1 - self), reason)) << reason;
    DirectMemory* const memory = transport->capabilities().direct_memory;
    ASSERT_NE(memory, nullptr) << transport->no_direct_reason();
    part(*transport, *memory);
  }
};

void add_ten(void* word, void* before) {
  *static_cast<std::uint64_t*>(before) = __atomic_fetch_add(static_cast<std::uint64_t*>(word), 10, __ATOMIC_SEQ_CST);
}

TEST_F(DirectTransport, ReachesWhatIsAskedForOften) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory, kOften - 1);
        owner_comes_to(1);
        await_neighbour(1);
        ask(memory);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(load(words), 15u);
        EXPECT_EQ(counter(), 2);
        EXPECT_TRUE(memory.counters_have_moved());
        EXPECT_FALSE(memory.counters_have_moved());
        const DirectMemory::Traffic traffic = memory.traffic();
        EXPECT_EQ(traffic.puts, 1u);
        EXPECT_EQ(traffic.put_bytes, 8u);
        EXPECT_EQ(traffic.gets, 1u);
        EXPECT_EQ(traffic.got_bytes, 8u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_FALSE(put(memory, 5, known_.counter)) << "it has not been asked for often";
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(put(memory, 5, known_.counter));
        std::uint64_t seen = 0, before = 0;
        EXPECT_TRUE(memory.get(kOwner, known_.words, &seen, sizeof seen, known_.counter));
        EXPECT_EQ(seen, 5u);
        EXPECT_TRUE(memory.change(kOwner, known_.words, sizeof seen, add_ten, &before));
        EXPECT_EQ(before, 5u);
        EXPECT_FALSE(put(memory, 1, known_.counter + 2)) << "a counter that is not aligned";
        EXPECT_FALSE(put(memory, 1, known_.counter + kChunkBytes)) << "a counter that is not open";
        neighbour_comes_to(2);
      });
}

TEST_F(DirectTransport, CopiesLongRangesWhole) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        for (unsigned i = 0; i < DirectMemory::kMostBytes / 8; ++i) ASSERT_EQ(words[i], i + 1) << i;
        EXPECT_EQ(words[DirectMemory::kMostBytes / 8], 0u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        std::vector<std::uint64_t> numbers(DirectMemory::kMostBytes / 8), seen(numbers.size());
        for (unsigned i = 0; i < numbers.size(); ++i) numbers[i] = i + 1;
        EXPECT_TRUE(memory.put(kOwner, known_.words, numbers.data(), DirectMemory::kMostBytes, 0));
        EXPECT_TRUE(memory.get(kOwner, known_.words, seen.data(), DirectMemory::kMostBytes, 0));
        EXPECT_EQ(seen, numbers);
        neighbour_comes_to(1);
      });
}

TEST_F(DirectTransport, CounterMovesAfterItsData) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(counter(), 0) << "the data is not in place yet";
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(counter(), 1);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        {
          const LateMemory zeros([this] {
            neighbour_comes_to(1);
            await_owner(2);
          });
          EXPECT_TRUE(memory.put(kOwner, known_.words, zeros.bytes(), LateMemory::kBytes, known_.counter));
        }
        neighbour_comes_to(2);
      });
}

// What a put that was under way still stores is there when the call returns, or never.
TEST_F(DirectTransport, PurgeLeavesNobodyInside) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        words[0] = 5;
        owner_comes_to(1);
        await_neighbour(1);
        owner_comes_to(2);
        transport.purge_peer(kNeighbour);
        const std::uint64_t then = load(words);
        owner_comes_to(3);
        await_neighbour(2);
        EXPECT_EQ(load(words), then);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        {
          const LateMemory zeros([this] {
            neighbour_comes_to(1);
            await_owner(2);
            for (int turn = 0; turn < 1000; ++turn) sched_yield();
          });
          EXPECT_TRUE(memory.put(kOwner, known_.words, zeros.bytes(), LateMemory::kBytes, 0));
        }
        await_owner(3);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(2);
      });
}

// In the neighbour: a put that stops in its middle, until the owner has it go on.
void DirectTransport::put_and_stop(DirectMemory& memory) {
  known_.neighbour = getpid();
  const LateMemory zeros([] { raise(SIGSTOP); });
  EXPECT_TRUE(memory.put(kOwner, known_.words, zeros.bytes(), LateMemory::kBytes, 0));
}
// The owner is the neighbour's parent.
void DirectTransport::await_stop() const {
  while (known_.neighbour == 0) sched_yield();
  int status = 0;
  EXPECT_EQ(waitpid(known_.neighbour, &status, WUNTRACED), known_.neighbour);
  EXPECT_TRUE(WIFSTOPPED(status));
}

// What it stores when it goes on comes to nothing.
TEST_F(DirectTransport, PurgeDoesNotWaitForWhoIsStopped) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        words[0] = 5;
        owner_comes_to(1);
        await_stop();
        transport.purge_peer(kNeighbour);
        let_go_on();
        await_neighbour(1);
        EXPECT_EQ(load(words), 5u);
        transport.resume_peer(kNeighbour);
        for (unsigned time = 0; time < kOften; ++time) ask(memory);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(load(words), 7u);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        put_and_stop(memory);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(transport.peer_began_anew(kOwner));
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(2);
      });
}

// What is put is not lost: the owner keeps its memory where it is, and the child gets a copy.
TEST_F(DirectTransport, ForkDoesNotWaitForWhoIsStopped) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        words[0] = words[kChunkBytes / 8 - 1] = 5;
        ASSERT_EQ(mprotect(words + kChunkBytes / 8, kChunkBytes / 2, PROT_READ), 0);
        owner_comes_to(1);
        await_stop();
        NeighbourProcess forked([&] {
          await_owner(2);
          const bool is_same = words[0] == 5 && words[kChunkBytes / 8 - 1] == 5 && counter() == 0;
          words[0] = 77;
          return is_same ? 0 : 1;
        });
        let_go_on();
        await_neighbour(1);
        EXPECT_EQ(load(words), 0u);
        EXPECT_EQ(words[kChunkBytes / 8 - 1], 5u);
        owner_comes_to(2);
        EXPECT_EQ(forked.end(), 0);
        await_neighbour(2);
        EXPECT_EQ(load(words), 7u);
        NeighbourProcess another([&] { return load(words) == 7 ? 0 : 1; });
        EXPECT_EQ(another.end(), 0);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        put_and_stop(memory);
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(2);
      });
}

TEST_F(DirectTransport, WatchingACounterDoesNotWaitForWhoIsStopped) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_words(memory);
        owner_comes_to(1);
        await_stop();
        memory.leave_counters_to_peers(false);
        let_go_on();
        await_neighbour(1);
        EXPECT_EQ(counter(), 0);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        put_and_stop(memory);
        EXPECT_FALSE(put(memory, 5, known_.counter));
        neighbour_comes_to(1);
      });
}

TEST_F(DirectTransport, NothingOvertakesAPacketThatTheOwnerHasNotTaken) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        IncomingPacket packet{};
        EXPECT_EQ(transport.receive_burst({&packet, 1}), 1u);
        transport.release(1);
        owner_comes_to(2);
        await_neighbour(2);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, 5));
        const std::uint64_t value = 1;
        const ConstBuffer piece{&value, sizeof value};
        const OutgoingPacket packet{{&piece, 1}, sizeof value};
        EXPECT_EQ(transport.send_burst(kOwner, {&packet, 1}), 1u);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(put(memory, 6));
        neighbour_comes_to(2);
      });
}

TEST_F(DirectTransport, WhoHasPurgedANeighbourIsLeftAloneByIt) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        transport.purge_peer(kNeighbour);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(load(words), 5u);
        transport.resume_peer(kNeighbour);
        owner_comes_to(3);
        await_neighbour(3);
        EXPECT_EQ(load(words), 7u);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, 5));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(2);
        await_owner(3);
        EXPECT_FALSE(put(memory, 6)) << "it has not begun anew yet";
        EXPECT_TRUE(transport.peer_began_anew(kOwner));
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(3);
      });
}

TEST_F(DirectTransport, WatchedCountersAreTheOwners) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_words(memory);
        memory.leave_counters_to_peers(false);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(counter(), 0);
        memory.leave_counters_to_peers(true);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(counter(), 1);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_FALSE(put(memory, 5, known_.counter));
        EXPECT_TRUE(put(memory, 5));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(put(memory, 6, known_.counter));
        neighbour_comes_to(2);
      });
}

// Whoever asks for reads alone finds its memory as it was, but may change its neighbours'.
TEST_F(DirectTransport, MemoryThatMayOnlyBeReadIsNotChanged) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        words[0] = 5;
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(words[0], 5u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        std::uint64_t seen = 0, before = 0;
        EXPECT_FALSE(put(memory, 6));
        EXPECT_FALSE(memory.change(kOwner, known_.words, sizeof seen, add_ten, &before));
        EXPECT_FALSE(memory.get(kOwner, known_.words, &seen, sizeof seen, known_.counter));
        EXPECT_TRUE(memory.get(kOwner, known_.words, &seen, sizeof seen, 0));
        EXPECT_EQ(seen, 5u);
        neighbour_comes_to(1);
      },
      DirectUse::kReads);
}

// Without the ring it would sleep for ever.
TEST_F(DirectTransport, CounterThatMovesWakesItsOwner) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        open_words(memory);
        WakeSource& doorbell = *transport.capabilities().wake_source;
        ASSERT_TRUE(doorbell.arm());
        owner_comes_to(1);
        pollfd descriptor{doorbell.descriptor(), POLLIN, 0};
        EXPECT_EQ(poll(&descriptor, 1, 60'000), 1);
        doorbell.disarm();
        await_neighbour(1);
        EXPECT_EQ(counter(), 1);
        EXPECT_FALSE(doorbell.arm()) << "one has moved that nobody has looked at";
        EXPECT_TRUE(memory.counters_have_moved());
        EXPECT_TRUE(doorbell.arm());
        doorbell.disarm();
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, 5, known_.counter));
        neighbour_comes_to(1);
      });
}

TEST_F(DirectTransport, FollowsItsOwnerIntoTheNextFile) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        for (unsigned time = 0; time < kOften + 8; ++time) ask(memory);  // messages for what is open count no more
        NeighbourProcess forked([&] { return load(words) == 5 ? 0 : 1; });
        EXPECT_EQ(forked.end(), 0);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(load(words), 5u);
        for (unsigned time = 0; time < kOften; ++time) ask(memory);
        owner_comes_to(3);
        await_neighbour(3);
        EXPECT_EQ(load(words), 7u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, 5));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_FALSE(put(memory, 6));
        neighbour_comes_to(2);
        await_owner(3);
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(3);
      });
}

TEST_F(DirectTransport, EndsWithItsOwner) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, 5));
        neighbour_comes_to(1);
        while (!transport.peer_left(kOwner)) sched_yield();
        EXPECT_FALSE(put(memory, 6));
      });
}

TEST_F(DirectTransport, EndsWhenItsOwnerIsKilled) {
  in_a_process(Beside::kThreads, [&] {
    const std::uint64_t cookie = test::fresh_cookie();
    NeighbourProcess owner([&] {
      ShmSetupError error;
      const auto transport = open_shm_transport(
          {.cookie = cookie, .self = kOwner, .local_tasks = {kOwner, kNeighbour}, .direct = DirectUse::kAll}, error);
      open_words(*transport->capabilities().direct_memory);
      owner_comes_to(1);
      await_neighbour(1);
      raise(SIGKILL);
      return 0;
    });
    ShmSetupError error;
    const auto transport = open_shm_transport(
        {.cookie = cookie, .self = kNeighbour, .local_tasks = {kOwner, kNeighbour}, .direct = DirectUse::kAll}, error);
    ASSERT_NE(transport, nullptr) << error.reason;
    std::string reason;
    ASSERT_TRUE(transport->add_peer(kOwner, transport->address_of(kOwner), reason)) << reason;
    DirectMemory& memory = *transport->capabilities().direct_memory;
    await_owner(1);
    EXPECT_FALSE(memory.is_in_use(kOwner));
    EXPECT_TRUE(put(memory, 5));
    EXPECT_TRUE(memory.is_in_use(kOwner));
    EXPECT_FALSE(memory.is_in_use(kOwner));
    neighbour_comes_to(1);
    EXPECT_EQ(owner.end(), -SIGKILL);
    unsigned more = 0;
    while (put(memory, 6)) ASSERT_LT(++more, 10'000u);
  });
}

TEST_F(DirectTransport, IsNotThereUnasked) {
  const auto transport = [] {
    ShmSetupError error;
    return open_shm_transport({.cookie = test::fresh_cookie(), .self = 0, .local_tasks = {0}}, error);
  }();
  ASSERT_NE(transport, nullptr);
  EXPECT_EQ(transport->capabilities().direct_memory, nullptr);
  EXPECT_NE(transport->capabilities().arrival_watch, nullptr);
  EXPECT_TRUE(transport->no_direct_reason().empty());
}

}  // namespace
}  // namespace openlapi::direct
