// Lists of pieces and strided blocks against a plain list of byte addresses: every way of cutting a message up, empty
// pieces, seeking back and forth, nothing touched between the pieces.
#include "dataplane/layout/vector_cursor.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <initializer_list>
#include <memory>
#include <random>
#include <vector>

#include "dataplane/base/copy_bytes.h"
#include "tests/support/address.h"

namespace openlapi {
namespace {

struct Vector {
  std::vector<void*> info;
  std::vector<unsigned long> len;

  PieceList list() const { return PieceList::of_arrays(info.data(), len.data(), sizeof(long), info.size()); }
};

// Pieces of a memory in random order of lengths, with gaps and some of them empty.
Vector random_vector(std::vector<std::byte>& memory, std::mt19937& random, std::size_t pieces, std::size_t longest) {
  Vector vector;
  std::size_t at = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    at += 1 + random() % 5;
    const std::size_t length = random() % 4 == 0 ? 0 : random() % (longest + 1);
    if (at + length > memory.size()) break;
    vector.info.push_back(length == 0 && random() % 2 == 0 ? nullptr : memory.data() + at);
    vector.len.push_back(length);
    at += length;
  }
  return vector;
}

std::vector<std::byte*> bytes_of(const Vector& vector) {
  std::vector<std::byte*> bytes;
  for (std::size_t i = 0; i < vector.info.size(); ++i) {
    for (std::size_t at = 0; at < vector.len[i]; ++at) bytes.push_back(static_cast<std::byte*>(vector.info[i]) + at);
  }
  return bytes;
}

std::vector<std::byte*> bytes_of(const wire::StridedLayout& layout) {
  std::vector<std::byte*> bytes;
  for (std::uint64_t block = 0; block < layout.count; ++block) {
    for (std::uint64_t at = 0; at < layout.block; ++at) {
      bytes.push_back(reinterpret_cast<std::byte*>(layout.base + block * layout.stride + at));
    }
  }
  return bytes;
}

// Walks through the cursor in random steps and compares every byte's address.
void expect_same(LayoutCursor& cursor, const std::vector<std::byte*>& bytes, std::mt19937& random) {
  ASSERT_EQ(cursor.total_bytes(), bytes.size());
  for (int walk = 0; walk < 20; ++walk) {
    std::size_t at = bytes.empty() ? 0 : random() % (bytes.size() + 1);
    cursor.seek(at);
    ASSERT_EQ(cursor.position(), at);
    while (at < bytes.size() && random() % 8 != 0) {
      std::array<LayoutPiece, 7> pieces;
      const std::uint64_t most = 1 + random() % 200;
      const std::size_t count = cursor.next_pieces(std::span(pieces).first(1 + random() % 7), most);
      ASSERT_NE(count, 0u);
      std::uint64_t sum = 0;
      for (const LayoutPiece& piece : std::span(pieces).first(count)) {
        ASSERT_NE(piece.length, 0u);
        for (std::uint64_t i = 0; i < piece.length; ++i) ASSERT_EQ(piece.address + i, address(bytes[at++]));
        sum += piece.length;
      }
      ASSERT_LE(sum, most);
      ASSERT_EQ(cursor.position(), at);
    }
  }
  cursor.seek(bytes.size());
  LayoutPiece none;
  EXPECT_EQ(cursor.next_pieces({&none, 1}, 100), 0u);
  EXPECT_EQ(cursor.bytes_left(), 0u);
}

void expect_gathers_and_scatters(LayoutCursor& cursor, const std::vector<std::byte*>& bytes,
                                 std::vector<std::byte>& memory, std::mt19937& random) {
  for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
  const auto before = memory;
  std::vector<std::byte> packed(bytes.size());
  cursor.seek(0);
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t step = std::min<std::size_t>(1 + random() % 300, packed.size() - at);
    cursor.gather(packed.data() + at, step);
    at += step;
    ASSERT_EQ(cursor.position(), at);
  }
  for (std::size_t i = 0; i < bytes.size(); ++i) ASSERT_EQ(packed[i], *bytes[i]);

  auto expected = before;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    packed[i] = static_cast<std::byte>(random());
    expected[static_cast<std::size_t>(bytes[i] - memory.data())] = packed[i];
  }
  cursor.seek(0);
  for (std::size_t at = 0; at < packed.size();) {
    const std::size_t step = std::min<std::size_t>(1 + random() % 300, packed.size() - at);
    cursor.scatter(packed.data() + at, step);
    at += step;
    ASSERT_EQ(cursor.position(), at);
  }
  EXPECT_TRUE(memory == expected) << "only the pieces may have been written";
}

TEST(ListCursor, NamesEveryByteOnceHoweverItIsCut) {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::byte> memory(20'000);
    const std::size_t longest[] = {1, 9, 64, 700};
    const Vector vector = random_vector(memory, random, round % 40, longest[round % 4]);
    const auto bytes = bytes_of(vector);
    ListCursor cursor(vector.list());
    expect_same(cursor, bytes, random);
    expect_gathers_and_scatters(cursor, bytes, memory, random);
  }
}

// Also lists that are so long that it remembers where pieces begin.
TEST(ListCursor, FindsEveryByteInAnyOrder) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    std::vector<std::byte> memory(40'000);
    const std::size_t pieces[] = {0, 63, 64, 65, 128, 129, 1000, 5000};
    const Vector vector = random_vector(memory, random, pieces[round % 8], 1 + round % 9);
    const auto bytes = bytes_of(vector);
    ListCursor cursor(vector.list());
    EXPECT_TRUE(cursor.expect_any_order());
    expect_same(cursor, bytes, random);
    EXPECT_TRUE(cursor.expect_any_order());
    expect_gathers_and_scatters(cursor, bytes, memory, random);
    expect_same(*cursor.clone(), bytes, random);
    ListCursor copy(cursor);
    expect_same(copy, bytes, random);
  }
}

TEST(StridedCursor, NamesEveryByteOnceHoweverItIsCut) {
  std::mt19937 random(2);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::byte> memory(20'000);
    const std::uint64_t block = 1 + random() % 130;
    const wire::StridedLayout layout{address(memory.data()) + random() % 9, block, block + random() % 40,
                                     random() % 100};
    StridedCursor cursor(layout);
    const auto bytes = bytes_of(layout);
    expect_same(cursor, bytes, random);
    expect_gathers_and_scatters(cursor, bytes, memory, random);
  }
}

TEST(StridedCursor, BlocksWithoutGapsAreOnePiece) {
  StridedCursor cursor({1000, 8, 8, 50});
  LayoutPiece piece;
  ASSERT_EQ(cursor.next_pieces({&piece, 1}, 1000), 1u);
  EXPECT_EQ(piece.address, 1000u);
  EXPECT_EQ(piece.length, 400u);
  EXPECT_EQ(cursor.piece_count(), 1u);
}

TEST(StridedCursor, WhatReachesBeyondTheAddressSpaceIsNothing) {
  const std::uint64_t huge = UINT64_MAX / 2;
  for (const wire::StridedLayout& layout :
       {wire::StridedLayout{1, huge, huge, 3}, wire::StridedLayout{16, 8, huge, 4},
        wire::StridedLayout{UINT64_MAX - 3, 8, 8, 1}, wire::StridedLayout{1, UINT64_MAX, UINT64_MAX, UINT64_MAX}}) {
    StridedCursor cursor(layout);
    EXPECT_EQ(cursor.total_bytes(), 0u);
    EXPECT_EQ(cursor.piece_count(), 0u);
    wire::StridedLayout nothing{1, 1, 1, 1};
    EXPECT_TRUE(cursor.as_strided(nothing));
    EXPECT_EQ(nothing.block + nothing.stride + nothing.count, 0u);
    LayoutPiece piece;
    EXPECT_EQ(cursor.next_pieces({&piece, 1}, 1), 0u);
  }
}

TEST(ListCursor, LengthsBeyond64BitsDoNotWrap) {
  Vector vector;
  vector.info = {&vector, &vector, &vector};
  vector.len = {ULONG_MAX, ULONG_MAX, 5};
  const std::uint64_t all = sizeof(ulong) == 8 ? UINT64_MAX : 2 * std::uint64_t{ULONG_MAX} + 5;
  EXPECT_EQ(ListCursor(vector.list()).total_bytes(), all);
}

TEST(LayoutCursor, ADetachedCursorNeedsNoListOfTheCaller) {
  std::vector<std::byte> memory(5000);
  std::mt19937 random(3);
  auto vector = std::make_unique<Vector>(random_vector(memory, random, 50, 60));
  const auto bytes = bytes_of(*vector);
  ListCursor original(vector->list());
  original.seek(bytes.size() / 2);
  const auto detached = original.detached()->detached();
  std::fill(vector->info.begin(), vector->info.end(), nullptr);
  std::fill(vector->len.begin(), vector->len.end(), 77);
  vector.reset();
  EXPECT_EQ(detached->position(), 0u);
  expect_same(*detached, bytes, random);
  expect_same(*detached->clone(), bytes, random);
}

TEST(LayoutCursor, CopiesBetweenLayoutsOfAnyShape) {
  std::mt19937 random(4);
  for (int round = 0; round < 40; ++round) {
    std::vector<std::byte> from_memory(4000), to_memory(4000);
    for (std::byte& byte : from_memory) byte = static_cast<std::byte>(random());
    const Vector from = random_vector(from_memory, random, 60, 70);
    const Vector to = random_vector(to_memory, random, 60, 90);
    ListCursor source(from.list()), destination(to.list());
    copy_layout(source, destination);
    const auto from_bytes = bytes_of(from), to_bytes = bytes_of(to);
    const std::size_t moved = std::min(from_bytes.size(), to_bytes.size());
    EXPECT_EQ(source.position(), moved) << "so many bytes have been sent, and received";
    EXPECT_EQ(destination.position(), moved);
    for (std::size_t i = 0; i < to_bytes.size(); ++i) {
      ASSERT_EQ(*to_bytes[i], i < moved ? *from_bytes[i] : std::byte{});
    }
  }
}

TEST(LayoutCursor, ADescriptionIsReadBack) {
  std::mt19937 random(5);
  std::vector<std::byte> memory(9000);
  const Vector vector = random_vector(memory, random, 80, 100);
  const wire::StridedLayout strided{address(memory.data()), 7, 19, 33};
  std::vector<std::byte> wire_bytes;
  ASSERT_TRUE(describe_layout(ListCursor(vector.list()), SIZE_MAX, wire_bytes));
  ASSERT_TRUE(describe_layout(StridedCursor(strided), 0, wire_bytes));
  EXPECT_FALSE(describe_layout(ListCursor(vector.list()), 64, wire_bytes)) << "longer than was allowed";
  std::span<const std::byte> rest(wire_bytes);
  wire::LayoutDescription first, second;
  ASSERT_TRUE(wire::next_description(rest, first));
  ASSERT_TRUE(wire::next_description(rest, second));
  expect_same(*cursor_of(first), bytes_of(vector), random);
  expect_same(*cursor_of(second), bytes_of(strided), random);
}

TEST(CopyBytes, CopiesEveryLengthAndNoMore) {
  std::vector<std::byte> from(300), to(300);
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::byte>(i + 1);
  for (std::size_t length = 0; length < 200; ++length) {
    std::fill(to.begin(), to.end(), std::byte{});
    copy_bytes(to.data() + 20, from.data() + 5, length);
    for (std::size_t i = 0; i < to.size(); ++i) {
      ASSERT_EQ(to[i], i >= 20 && i < 20 + length ? from[i - 15] : std::byte{}) << length << " bytes, at " << i;
    }
  }
}

// The lists are the user's, and may end where his memory does.
TEST(ListCursor, ReadsNoEntryBehindTheLast) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const auto at_an_end = [page] {
    void* const two = mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(two, MAP_FAILED);
    EXPECT_EQ(mprotect(static_cast<std::byte*>(two) + page, page, PROT_NONE), 0);
    return reinterpret_cast<std::uintptr_t*>(static_cast<std::byte*>(two) + page);
  };
  std::uintptr_t* const addresses = at_an_end();
  std::uintptr_t* const lengths = at_an_end();
  std::array<std::byte, 24> memory{};
  for (int n = 0; n < 3; ++n) {
    addresses[n - 3] = address(&memory[static_cast<std::size_t>(8 * n)]);
    lengths[n - 3] = 8;
  }
  ListCursor cursor(PieceList::of_arrays(addresses - 3, lengths - 3, sizeof(std::uintptr_t), 3));
  LayoutPiece piece;
  for (const std::uint64_t position : {std::uint64_t{24}, std::uint64_t{20}, std::uint64_t{0}, std::uint64_t{24}}) {
    cursor.seek(position);
    EXPECT_EQ(cursor.next_pieces({&piece, 1}, 100), position == 24 ? 0u : 1u);
  }
  for (std::uintptr_t* end : {addresses, lengths}) munmap(reinterpret_cast<std::byte*>(end) - page, 2 * page);
}

// Of 32-bit tasks: arrays of 4-byte words.
TEST(ListCursor, WordsMayHave4Bytes) {
  const std::array<std::uint32_t, 4> addresses{0xfffffff0, 16, 0x80000000, 7};
  const std::array<std::uint32_t, 4> lengths{3, 0, 0xffffffff, 1};
  ListCursor cursor(PieceList::of_arrays(addresses.data(), lengths.data(), 4, 3));
  EXPECT_EQ(cursor.total_bytes(), 0xffffffff + std::uint64_t{3});
  std::array<LayoutPiece, 4> pieces;
  ASSERT_EQ(cursor.next_pieces(pieces, cursor.total_bytes()), 2u);
  EXPECT_EQ(pieces[0].address, 0xfffffff0u);
  EXPECT_EQ(pieces[0].length, 3u);
  EXPECT_EQ(pieces[1].address, 0x80000000u);
  EXPECT_EQ(pieces[1].length, 0xffffffffu);
}

TEST(LayoutCursor, MovesNoMoreThanIsLeft) {
  std::array<std::byte, 30> memory{}, packed;
  const std::array<LayoutPiece, 2> pieces{{{address(memory.data()), 4}, {address(memory.data() + 10), 6}}};
  StridedCursor strided({address(memory.data()), 4, 8, 3}), contiguous(address(memory.data()), 10);
  ListCursor list(PieceList::of_pieces(pieces.data(), pieces.size()));
  for (LayoutCursor* cursor : std::initializer_list<LayoutCursor*>{&strided, &contiguous, &list}) {
    packed.fill(std::byte{0xee});
    cursor->seek(3);
    const std::size_t left = cursor->total_bytes() - 3;
    cursor->gather(packed.data(), packed.size());
    EXPECT_EQ(cursor->bytes_left(), 0u);
    for (std::size_t i = 0; i < packed.size(); ++i) EXPECT_EQ(packed[i], i < left ? std::byte{} : std::byte{0xee});
    cursor->seek(3);
    cursor->scatter(packed.data(), packed.size());
    EXPECT_EQ(cursor->bytes_left(), 0u);
    EXPECT_EQ(memory, decltype(memory){}) << "nothing but zeros of the layout's own";
  }
}

TEST(LayoutCursor, SaysNothingThatNobodyHasSaid) {
  const LayoutPiece piece{1000, 10};
  const ListCursor list(PieceList::of_pieces(&piece, 1));
  const StridedCursor strided(1000, 10), blocks({1000, 4, 8, 3});
  for (const LayoutCursor* cursor : std::initializer_list<const LayoutCursor*>{&list, &strided, &blocks}) {
    EXPECT_EQ(cursor->atom_size(), 0u);
    EXPECT_EQ(cursor->list_bytes(), 0u);
    EXPECT_TRUE(cursor->only_copies());
    EXPECT_FALSE(cursor->guarded());
  }
  EXPECT_EQ(strided.total_bytes(), 10u);
  EXPECT_EQ(StridedCursor(1000, 10, 5).atom_size(), 5u);
  EXPECT_EQ(StridedCursor(1000, 10, 5).clone()->atom_size(), 5u);
  EXPECT_EQ(list.detached()->list_bytes(), sizeof(LayoutPiece));
}

TEST(LayoutCursor, ClonesBeginAtTheBeginning) {
  StridedCursor strided({1000, 4, 8, 3});
  strided.seek(7);
  EXPECT_EQ(strided.clone()->position(), 0u);
  EXPECT_EQ(strided.detached()->bytes_left(), 12u);
}

// How many pieces there are is only said roughly.
class UncountedPieces final : public LayoutCursor {
 public:
  UncountedPieces(std::uint64_t pieces, std::uint64_t said) : LayoutCursor(pieces), said_(said) {}
  void seek(std::uint64_t position) override { position_ = position; }
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t) override {
    if (pieces.empty() || bytes_left() == 0) return 0;
    pieces[0] = {1000 + 2 * position_++, 1};
    return 1;
  }
  std::uint64_t piece_count() const override { return said_; }
  std::unique_ptr<LayoutCursor> clone() const override {
    return std::make_unique<UncountedPieces>(total_bytes_, said_);
  }
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  std::uint64_t said_;
};

TEST(LayoutCursor, ADescriptionHasAllPiecesHoweverManyWereExpected) {
  constexpr std::size_t kPieces = 7;
  for (const std::uint64_t said : {0u, 1u, 6u, 7u, 8u, 100u}) {
    for (const std::size_t room : {kPieces - 1, kPieces, kPieces + 1, std::size_t{1000}}) {
      std::vector<std::byte> bytes;
      const bool fits = describe_layout(UncountedPieces(kPieces, said), room * sizeof(LayoutPiece), bytes);
      EXPECT_EQ(fits, room >= kPieces) << said << ", " << room;
      if (!fits) continue;
      std::span<const std::byte> rest(bytes);
      wire::LayoutDescription description;
      ASSERT_TRUE(wire::next_description(rest, description));
      ASSERT_EQ(description.count, kPieces);
      const PieceList list = PieceList::of_pieces(description.pieces, description.count);
      for (std::size_t i = 0; i < kPieces; ++i) EXPECT_EQ(list[i].address, 1000 + 2 * i);
    }
  }
}

}  // namespace
}  // namespace openlapi
