// A neighbour that is stopped (SIGSTOP, a debugger) in the middle of an operation: its owner goes on, and nothing of
// the owner's is changed that the operation may not change any more.
#include "tests/unit/shm/direct/direct_transport.h"

namespace openlapi::direct {
namespace {

using StoppedNeighbour = DirectTransport;

// What it stores when it goes on comes to nothing.
TEST_F(StoppedNeighbour, IsNotWaitedForByAPurge) {
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
TEST_F(StoppedNeighbour, IsNotWaitedForByAFork) {
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

TEST_F(StoppedNeighbour, IsNotWaitedForByWhoWatchesACounter) {
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

}  // namespace
}  // namespace openlapi::direct
