#include "nic/udp/receive_arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <random>

namespace openlapi::udp {
namespace {

// "Reads" `length` bytes of `fill` and hands out `packets` of them. False: no room.
bool read(ReceiveArena& arena, std::size_t length, int fill, unsigned packets) {
  std::byte* room = arena.room();
  if (room == nullptr) return false;
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room) % 64, 0u);
  std::memset(room, fill, length);
  arena.commit(length);
  for (unsigned i = 0; i < packets; ++i) arena.hold();
  arena.end_parsing();
  return true;
}

TEST(ReceiveArena, StartsAgainAtTheFrontWhenAllIsReleased) {
  ReceiveArena arena;
  std::byte* first = arena.room();
  for (int i = 0; i < 5000; ++i) {
    ASSERT_TRUE(read(arena, 100, i, 2));
    arena.release(2);
    ASSERT_EQ(arena.room(), first);
  }
}

TEST(ReceiveArena, ReadsWithoutPacketsKeepNoRoom) {
  ReceiveArena arena;
  std::byte* first = arena.room();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(read(arena, ReceiveArena::kReadRoom, i, 0));
  EXPECT_EQ(arena.room(), first);
}

TEST(ReceiveArena, ReadsWithoutPacketsKeepNoRoomBehindOneThatIsHeld) {
  ReceiveArena arena;
  ASSERT_TRUE(read(arena, 100, 1, 1));
  std::byte* second = arena.room();
  for (int i = 0; i < 5000; ++i) ASSERT_TRUE(read(arena, ReceiveArena::kReadRoom, i, 0));
  EXPECT_EQ(arena.room(), second);
  arena.release(1);
}

TEST(ReceiveArena, EndsWhenItsRoomIsHeld) {
  ReceiveArena arena;
  unsigned reads = 0;
  while (read(arena, ReceiveArena::kReadRoom, 1, 1)) ++reads;
  EXPECT_EQ(reads, ReceiveArena::kSize / ReceiveArena::kReadRoom);
  arena.release(2);
  EXPECT_TRUE(read(arena, 64, 1, 1));  // the first bytes are free again
  arena.release(reads - 1);
  EXPECT_TRUE(read(arena, 64, 1, 1));
}

TEST(ReceiveArena, EndsWhenTooManyReadsAreHeld) {
  ReceiveArena arena;
  unsigned reads = 0;
  while (read(arena, 8, 1, 1)) ++reads;
  EXPECT_EQ(reads, ReceiveArena::kMaxChunks);
  arena.release(1);
  EXPECT_TRUE(read(arena, 8, 1, 1));
}

TEST(ReceiveArena, ReleasingInTheMiddleOfParsingKeepsTheRest) {
  ReceiveArena arena;
  std::byte* room = arena.room();
  arena.commit(64);
  arena.hold();
  arena.unparsed() = arena.unparsed().subspan(16);
  arena.release(1);
  ASSERT_TRUE(arena.has_unparsed());
  EXPECT_EQ(arena.unparsed().data(), room + 16);
  arena.hold();
  arena.end_parsing();
  EXPECT_NE(arena.room(), room);
  arena.release(1);
  EXPECT_EQ(arena.room(), room);
}

TEST(ReceiveArena, HeldBytesAreNeverOverwritten) {
  struct Held {
    std::byte* data;
    std::size_t length;
    std::byte fill;
    unsigned packets;
  };
  for (unsigned seed = 1; seed <= 5; ++seed) {
    ReceiveArena arena;
    std::deque<Held> held;
    std::mt19937 random(seed);
    for (int step = 0; step < 5'000; ++step) {
      std::byte* room = arena.room();
      if (room != nullptr && random() % 5 != 0) {
        const std::size_t length = random() % 3 == 0 ? ReceiveArena::kReadRoom : 1 + random() % 2000;
        const unsigned packets = 1 + random() % 3;
        ASSERT_TRUE(read(arena, length, step, packets));
        held.push_back({room, length, static_cast<std::byte>(step), packets});
      } else if (!held.empty()) {
        const Held oldest = held.front();
        held.pop_front();
        const auto same = [&](std::byte byte) { return byte == oldest.fill; };
        ASSERT_TRUE(std::all_of(oldest.data, oldest.data + oldest.length, same)) << "seed " << seed;
        arena.release(oldest.packets);
      }
      ASSERT_TRUE(room != nullptr || !held.empty());
    }
  }
}

}  // namespace
}  // namespace openlapi::udp
