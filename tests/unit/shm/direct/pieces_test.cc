// Operations on several pieces of a neighbour's memory: all of them, or none.
#include <vector>

#include "tests/unit/shm/direct/direct_transport.h"

namespace openlapi::direct {
namespace {

class Pieces : public DirectTransport {
 protected:
  static constexpr std::uint64_t kChunks = 8;

  // In the owner: chunks of which the neighbour has asked often for those with even numbers.
  std::uint64_t* open_every_second(DirectMemory& memory) {
    std::uint64_t* const words = map_words(kChunks * kChunkBytes);
    known_.words = address_of(words);
    known_.counter = address_of(words) + 4096;
    std::vector<MemoryRange> pieces;
    for (std::uint64_t chunk = 0; chunk < kChunks; chunk += 2) pieces.push_back(word_of(chunk));
    for (unsigned time = 0; time < kOften; ++time) memory.asked_for_pieces(pieces);
    return words;
  }
  MemoryRange word_of(std::uint64_t chunk, std::uint64_t length = 8) const {
    return {known_.words + chunk * kChunkBytes, length};
  }
  static bool put(DirectMemory& memory, const std::vector<MemoryRange>& pieces, const std::vector<std::uint64_t>& words,
                  std::uint64_t counter = 0) {
    return memory.put_pieces(kOwner, pieces, reinterpret_cast<const std::byte*>(words.data()), counter);
  }
  static bool get(DirectMemory& memory, const std::vector<MemoryRange>& pieces, std::vector<std::uint64_t>& words,
                  std::uint64_t counter = 0) {
    return memory.get_pieces(kOwner, pieces, reinterpret_cast<std::byte*>(words.data()), counter);
  }
};

TEST_F(Pieces, AreReachedInOrder) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        const std::uint64_t* const words = open_every_second(memory);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(words[0], 4u) << "of two pieces in one place the later one stays";
        EXPECT_EQ(words[2 * kChunkBytes / 8], 2u);
        EXPECT_EQ(words[6 * kChunkBytes / 8], 3u);
        EXPECT_EQ(counter(), 2);
        EXPECT_TRUE(memory.counters_have_moved());
        const DirectMemory::Traffic traffic = memory.traffic();
        EXPECT_EQ(traffic.puts, 1u);
        EXPECT_EQ(traffic.put_bytes, 32u);
        EXPECT_EQ(traffic.gets, 1u);
        EXPECT_EQ(traffic.got_bytes, 24u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, {word_of(0), word_of(2), word_of(6), word_of(0)}, {1, 2, 3, 4}, known_.counter));
        std::vector<std::uint64_t> seen(3);
        EXPECT_TRUE(get(memory, {word_of(6), word_of(0, 3), word_of(0), word_of(2, 5)}, seen, known_.counter));
        EXPECT_EQ(seen, (std::vector<std::uint64_t>{3, 4 | 4 << 24, 2ull << 24}));
        neighbour_comes_to(1);
      });
}

TEST_F(Pieces, AreLeftAloneWhereOneIsNotOpen) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        const std::uint64_t* const words = open_every_second(memory);
        owner_comes_to(1);
        await_neighbour(1);
        EXPECT_EQ(words[0], 0u);
        EXPECT_EQ(words[4 * kChunkBytes / 8], 0u);
        EXPECT_EQ(counter(), 0);
        EXPECT_EQ(memory.traffic().puts, 0u);
        EXPECT_EQ(memory.traffic().gets, 0u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        std::vector<std::uint64_t> seen(4096, 7);
        const std::vector<std::uint64_t> data(4096, 1);
        const auto refused = [&](const std::vector<MemoryRange>& pieces, std::uint64_t counter) {
          EXPECT_FALSE(put(memory, pieces, data, counter));
          EXPECT_FALSE(get(memory, pieces, seen, counter));
        };
        refused({word_of(0), word_of(4), word_of(3)}, known_.counter);
        refused({word_of(0), {known_.words + 5 * kChunkBytes - 4, 8}}, known_.counter);
        refused({word_of(0), {~std::uint64_t{0} - 3, 4}}, known_.counter);
        refused({word_of(0), word_of(4)}, known_.words + kChunkBytes);
        refused({word_of(0), word_of(4)}, known_.counter + 2);
        EXPECT_EQ(seen, std::vector<std::uint64_t>(4096, 7));
        neighbour_comes_to(1);
      });
}

TEST_F(Pieces, AreNumerous) {
  const auto pieces = [this] {
    std::vector<MemoryRange> all(DirectMemory::kMostPieces);
    for (std::uint64_t i = 0; i < all.size(); ++i) all[i] = {word_of(i % 4 * 2).address + 64 * (i + 2), 64};
    return all;
  };
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        open_every_second(memory);
        owner_comes_to(1);
        await_neighbour(1);
        std::uint64_t next = 0;
        for (const MemoryRange& piece : pieces()) {
          const auto* const words = reinterpret_cast<const std::uint64_t*>(piece.address);
          for (unsigned i = 0; i < 8; ++i) ASSERT_EQ(words[i], next++);
        }
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        std::vector<std::uint64_t> data(DirectMemory::kMostBytes / 8), seen(data.size());
        for (std::uint64_t i = 0; i < data.size(); ++i) data[i] = i;
        EXPECT_TRUE(put(memory, pieces(), data));
        EXPECT_TRUE(get(memory, pieces(), seen));
        EXPECT_EQ(seen, data);
        neighbour_comes_to(1);
      });
}

// However many pieces of a message lie in one place; all of a piece, though it lies in two.
TEST_F(Pieces, CountOncePerMessage) {
  run(
      [&](ShmTransport&, DirectMemory& memory) {
        known_.words = address_of(map_words(kChunks * kChunkBytes));
        known_.counter = 0;
        const std::vector<MemoryRange> column(kOften, word_of(1));
        const std::vector<MemoryRange> crossing{{word_of(4).address - 4, 8}};
        memory.asked_for_pieces(column);
        for (unsigned time = 0; time < kOften; ++time) memory.asked_for_pieces(crossing);
        owner_comes_to(1);
        await_neighbour(1);
        for (unsigned time = 1; time < kOften; ++time) memory.asked_for_pieces(column);
        owner_comes_to(2);
        await_neighbour(2);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_FALSE(put(memory, {word_of(1)}, {1}));
        EXPECT_TRUE(put(memory, {{word_of(4).address - 4, 4}, word_of(4, 4)}, {1}));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_TRUE(put(memory, {word_of(1)}, {1}));
        neighbour_comes_to(2);
      });
}

// A visit that has begun ends whole; what comes after it does not begin.
TEST_F(Pieces, AreRefusedByWhoHasPurged) {
  run(
      [&](ShmTransport& transport, DirectMemory& memory) {
        const std::uint64_t* const words = open_every_second(memory);
        owner_comes_to(1);
        await_neighbour(1);
        transport.purge_peer(kNeighbour);
        owner_comes_to(2);
        await_neighbour(2);
        EXPECT_EQ(words[0], 1u);
      },
      [&](ShmTransport&, DirectMemory& memory) {
        await_owner(1);
        EXPECT_TRUE(put(memory, {word_of(0)}, {1}));
        neighbour_comes_to(1);
        await_owner(2);
        EXPECT_FALSE(put(memory, {word_of(0)}, {2}));
        neighbour_comes_to(2);
      });
}

}  // namespace
}  // namespace openlapi::direct
