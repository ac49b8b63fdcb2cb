// What a transport reads of a neighbour's memory that nobody has promoted, while the neighbour does not poll.
#include <poll.h>

#include <numeric>
#include <vector>

#include "tests/unit/shm/direct/direct_transport.h"

namespace openlapi::direct {
namespace {

class UnattendedTransport : public DirectTransport {
 protected:
  // In the owner: two chunks, nothing of which is promoted.
  std::uint64_t* offer_words() {
    std::uint64_t* const words = open_words_later();
    std::iota(words, words + kChunkBytes / 8, std::uint64_t{5});
    return words;
  }
  static void compute(ShmTransport& transport) { *transport.unattended_word() = 1; }
  static void poll_again(ShmTransport& transport) { *transport.unattended_word() = 0; }

  // In the neighbour.
  bool get(DirectMemory& memory, std::uint64_t& value, std::uint64_t counter = 0) {
    value = 0;
    return memory.get(kOwner, known_.words, &value, sizeof value, counter);
  }
  bool cannot_get(DirectMemory& memory, std::uint64_t counter = 0) {
    std::uint64_t value = 0;
    return !get(memory, value, counter);
  }
  void expect_got(DirectMemory& memory, std::uint64_t wanted = 5) {
    std::uint64_t value = 0;
    EXPECT_TRUE(get(memory, value));
    EXPECT_EQ(value, wanted);
  }

 private:
  std::uint64_t* open_words_later() {
    std::uint64_t* const words = map_words(2 * kChunkBytes);
    known_.words = address_of(words);
    known_.counter = address_of(words) + kChunkBytes;
    return words;
  }
};

TEST_F(UnattendedTransport, ReadsTheMemoryOfWhoDoesNotPoll) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        offer_words();
        owner_comes_to(1);
        await_neighbour(1);
        compute(transport);
        owner_comes_to(2);
        await_neighbour(2);
        poll_again(transport);
        owner_comes_to(3);
        await_neighbour(3);
        EXPECT_EQ(memory.traffic().gets, 3u);
        EXPECT_EQ(memory.traffic().got_bytes, 8 + 1 + DirectMemory::kMostBytes);
        EXPECT_EQ(counter(), 0);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(cannot_get(memory)) << "the owner polls, as far as anybody knows";
        neighbour_comes_to(1);
        await_owner(2);
        memory.is_in_use(kOwner);
        EXPECT_FALSE(memory.is_in_use(kOwner));
        expect_got(memory);
        EXPECT_TRUE(memory.is_in_use(kOwner));
        EXPECT_TRUE(cannot_get(memory, known_.counter)) << "its counter can be moved by nobody but the owner";
        std::byte first{};
        EXPECT_TRUE(memory.get(kOwner, known_.words, &first, 1, 0));
        EXPECT_EQ(first, std::byte{5});
        std::vector<std::uint64_t> seen(DirectMemory::kMostBytes / 8);
        EXPECT_TRUE(memory.get(kOwner, known_.words, seen.data(), DirectMemory::kMostBytes, 0));
        EXPECT_EQ(seen.back(), 5 + seen.size() - 1);
        EXPECT_FALSE(memory.get(kOwner, 4096, seen.data(), 8, 0)) << "nothing is there";
        EXPECT_FALSE(put(memory, 6)) << "only reads are possible";
        neighbour_comes_to(2);
        await_owner(3);
        EXPECT_TRUE(cannot_get(memory)) << "a message is faster";
        neighbour_comes_to(3);
      });
}

TEST_F(UnattendedTransport, NothingOvertakesAPacketThatTheOwnerHasNotTaken) {
  run(
      [&](ShmTransport& transport, DirectMemory&) {
        offer_words();
        compute(transport);
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
        expect_got(memory);
        const std::uint64_t value = 1;
        const ConstBuffer piece{&value, sizeof value};
        const OutgoingPacket packet{{&piece, 1}, sizeof value};
        EXPECT_EQ(transport.send_burst(kOwner, {&packet, 1}), 1u);
        EXPECT_TRUE(cannot_get(memory));
        neighbour_comes_to(1);
        await_owner(2);
        expect_got(memory);
        neighbour_comes_to(2);
      });
}

TEST_F(UnattendedTransport, WhoHasPurgedANeighbourIsNotReadByIt) {
  run(
      [&](ShmTransport& transport, DirectMemory&) {
        offer_words();
        compute(transport);
        owner_comes_to(1);
        await_neighbour(1);
        transport.purge_peer(kNeighbour);
        owner_comes_to(2);
        await_neighbour(2);
        transport.resume_peer(kNeighbour);
        owner_comes_to(3);
        await_neighbour(3);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        expect_got(memory);
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(cannot_get(memory));
        neighbour_comes_to(2);
        await_owner(3);
        EXPECT_TRUE(cannot_get(memory)) << "it has not begun anew yet";
        EXPECT_TRUE(transport.peer_began_anew(kOwner));
        expect_got(memory);
        neighbour_comes_to(3);
      });
}

// No message tells the owner that its memory is hot.
TEST_F(UnattendedTransport, WhatIsReadOftenIsOpenedWhenTheOwnerIsBack) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        std::uint64_t* const words = offer_words();
        compute(transport);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_FALSE(memory.counters_have_moved());
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_TRUE(memory.counters_have_moved());
        EXPECT_FALSE(memory.counters_have_moved());
        owner_comes_to(3);
        await_neighbour(3);
        EXPECT_EQ(load(words), 7u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        for (unsigned time = 1; time < kOften; ++time) expect_got(memory);
        neighbour_comes_to(1);
        await_owner(2);
        expect_got(memory);
        EXPECT_FALSE(put(memory, 7));
        neighbour_comes_to(2);
        await_owner(3);
        EXPECT_TRUE(put(memory, 7));
        neighbour_comes_to(3);
      });
}

TEST_F(UnattendedTransport, WishesOfWhoIsPurgedAreForgotten) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        offer_words();
        compute(transport);
        owner_comes_to(1);
        await_neighbour(1);
        transport.purge_peer(kNeighbour);
        transport.resume_peer(kNeighbour);
        memory.counters_have_moved();
        owner_comes_to(2);
        await_neighbour(2);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        for (unsigned time = 0; time < kOften; ++time) expect_got(memory);
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(transport.peer_began_anew(kOwner));
        EXPECT_FALSE(put(memory, 7));
        for (unsigned time = 1; time < kOften; ++time) expect_got(memory);
        neighbour_comes_to(2);
      });
}

TEST_F(UnattendedTransport, HotMemoryWakesAnOwnerThatSleeps) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        offer_words();
        compute(transport);
        WakeSource& doorbell = *transport.capabilities().wake_source;
        ASSERT_TRUE(doorbell.arm());
        owner_comes_to(1);
        pollfd descriptor{doorbell.descriptor(), POLLIN, 0};
        EXPECT_EQ(poll(&descriptor, 1, 60'000), 1);
        doorbell.disarm();
        EXPECT_TRUE(memory.counters_have_moved());
        await_neighbour(1);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        for (unsigned time = 0; time < kOften; ++time) expect_got(memory);
        neighbour_comes_to(1);
      });
}

// A fork of the owner's takes back what is open; what is read otherwise stays.
TEST_F(UnattendedTransport, IsReadBeforeAndAfterAFork) {
  run(
      [&](ShmTransport& transport, DirectMemory&) {
        std::uint64_t* const words = offer_words();
        compute(transport);
        owner_comes_to(1);
        await_neighbour(1);
        NeighbourProcess forked([&] {
          words[0] = 9;
          owner_comes_to(2);
          await_neighbour(2);
          return 0;
        });
        EXPECT_EQ(forked.end(), 0);
        words[0] = 6;
        owner_comes_to(3);
        await_neighbour(3);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        expect_got(memory, 5);
        neighbour_comes_to(1);
        await_owner(2);
        expect_got(memory, 5);
        neighbour_comes_to(2);
        await_owner(3);
        expect_got(memory, 6);
        neighbour_comes_to(3);
      });
}

TEST_F(UnattendedTransport, EndsWithItsOwner) {
  run(
      [&](ShmTransport& transport, DirectMemory&) {
        offer_words();
        compute(transport);
        owner_comes_to(1);
        await_neighbour(1);
      },
      [&](ShmTransport& transport, DirectMemory& memory) {
        await_owner(1);
        expect_got(memory);
        neighbour_comes_to(1);
        while (!transport.peer_left(kOwner)) sched_yield();
        EXPECT_TRUE(cannot_get(memory));
      });
}

}  // namespace
}  // namespace openlapi::direct
