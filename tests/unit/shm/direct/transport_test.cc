// Direct access as a transport gives it: two processes that share memory, one reaches what the other has been asked
// for.
#include <poll.h>

#include "dataplane/base/monotonic_clock.h"
#include "tests/support/no_descriptors.h"
#include "tests/unit/shm/direct/direct_transport.h"

namespace openlapi::direct {
namespace {

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

TEST_F(DirectTransport, WithoutADescriptorTheOwnersFileIsTriedForAgainButNotWithEachOperation) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(load(words), 5u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        const Nanoseconds begin = system_monotonic_time();
        {
          const NoDescriptors limit;
          EXPECT_FALSE(put(memory, 4));
        }
        const bool was_tried = put(memory, 5);
        EXPECT_FALSE(was_tried && system_monotonic_time() - begin < kSecond / 10);
        while (!put(memory, 5)) sched_yield();
        neighbour_comes_to(1);
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
        for (unsigned time = 0; time < 5 * kOften; ++time) ask(memory);  // messages for what is open count no more
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

// The limit on files lets the owner begin none after a fork.
TEST_F(DirectTransport, WaitsUntilItsOwnerHasAFileAgain) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        std::uint64_t* const words = open_words(memory);
        owner_comes_to(1);
        await_neighbour(1);
        const rlimit small = {1 << 20, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
        NeighbourProcess forked([] { return 0; });
        EXPECT_EQ(forked.end(), 0);
        owner_comes_to(2);
        await_neighbour(2);
        ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &all), 0);
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
        for (int time = 0; time < 20; ++time) EXPECT_FALSE(put(memory, 6));
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
  EXPECT_FALSE(transport->has_direct_memory());
}

}  // namespace
}  // namespace openlapi::direct
