#include "api/context/memory_reserve.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace openlapi {
namespace {

constexpr std::size_t kPiece = 60'000;

std::vector<std::byte*> take_all(std::size_t bytes) {
  std::vector<std::byte*> pieces;
  while (void* place = take_from_reserve(bytes)) pieces.push_back(static_cast<std::byte*>(place));
  return pieces;
}

void return_all(const std::vector<std::byte*>& pieces) {
  for (std::byte* piece : pieces) EXPECT_TRUE(return_to_reserve(piece));
}

TEST(MemoryReserve, PiecesAreAlignedAndApart) {
  const std::size_t room = reserve_room();
  std::vector<std::byte*> pieces = take_all(kPiece);
  EXPECT_GE(pieces.size(), kReserveBytes / kPiece - 2);
  EXPECT_LT(reserve_room(), 2 * kPiece);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pieces[i]) % alignof(std::max_align_t), 0u);
    std::memset(pieces[i], static_cast<int>(i), kPiece);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i][0], static_cast<std::byte>(i));
    EXPECT_EQ(pieces[i][kPiece - 1], static_cast<std::byte>(i));
  }
  return_all(pieces);
  EXPECT_EQ(reserve_room(), room);
}

TEST(MemoryReserve, WhatIsReturnedInAnyOrderBecomesOnePieceAgain) {
  std::vector<std::byte*> small = take_all(1000);
  EXPECT_EQ(take_from_reserve(kPiece), nullptr);
  for (const std::size_t first : {1u, 0u}) {
    for (std::size_t i = first; i < small.size(); i += 2) EXPECT_TRUE(return_to_reserve(small[i]));
  }
  const std::vector<std::byte*> large = take_all(kReserveBytes / 2);
  EXPECT_EQ(large.size(), 1u);
  return_all(large);
}

TEST(MemoryReserve, HasNoHugePiecesAndKnowsItsOwn) {
  EXPECT_EQ(take_from_reserve(kReserveBytes), nullptr);
  int elsewhere = 0;
  EXPECT_FALSE(return_to_reserve(&elsewhere));
}

TEST(MemoryReserve, IsClosedForTheThreadThatSaysSo) {
  const ReserveClosed closed;
  { const ReserveClosed again; }
  EXPECT_EQ(take_from_reserve(8), nullptr);
  std::thread([] {
    void* const place = take_from_reserve(8);
    ASSERT_NE(place, nullptr);
    EXPECT_TRUE(return_to_reserve(place));
  }).join();
}

TEST(MemoryReserve, MemoryIsShortUntilTheHeapGivesAgain) {
  void* const place = take_from_reserve(8);
  EXPECT_TRUE(reserve_in_use.load());
  EXPECT_FALSE(memory_is_short()) << "the heap of this test gives";
  EXPECT_FALSE(reserve_in_use.load());
  EXPECT_TRUE(return_to_reserve(place));
}

}  // namespace
}  // namespace openlapi
