#include "dataplane/layout/program_cursor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "dataplane/layout/strided_copy.h"
#include "tests/support/gather_scatter_reference.h"

namespace openlapi {
namespace {

constexpr int kCopy = static_cast<int>(code::kCopyInts);
constexpr int kGosub = static_cast<int>(code::kGosubInts);
constexpr int kIterate = static_cast<int>(code::kIterateInts);
constexpr int kControl = static_cast<int>(code::kControlInts);

std::vector<std::byte> counted(std::size_t bytes) {
  std::vector<std::byte> data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
  return data;
}

std::uint64_t bits(const std::byte* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Two columns of a matrix of `rows` rows, element by element: GOSUB of an MCOPY.
TestProgram two_columns(int rows, long row_bytes) {
  TestProgram program;
  program.gosub(rows, 0, row_bytes, kGosub + kIterate, kGosub);
  program.iterate(-kGosub);
  const int start = static_cast<int>(program.code.size());
  program.mcopy({{8, 8}, {40, 16}, {0, 4}});
  program.iterate(start - static_cast<int>(program.code.size()));
  program.source = {{}, 2, LayoutDensity::sparse, 28L * rows, row_bytes * rows, 0, row_bytes * rows, 0};
  return program;
}

TEST(ProgramCursor, long_programs_do_what_the_reference_machine_does) {
  for (const int rows : {1, 2, 3, 50}) {
    TestProgram program = two_columns(rows, 64);
    for (const std::uint64_t total : {0, 1, 27, 28, 29, 999, 5000}) {
      program.total_bytes = total;
      EXPECT_TRUE(check_against_reference(program, total)) << rows << " rows, " << total << " bytes";
    }
  }
}

TEST(ProgramCursor, starts_in_the_middle_of_terabytes) {
  // 2^31 - 1 rows of 64 bytes, or as many as a long can tell the extent of, applied a thousand times: only positions
  // and addresses, no memory.
  constexpr int kRows = sizeof(long) == 8 ? std::numeric_limits<int>::max() : std::numeric_limits<int>::max() / 64;
  TestProgram program = two_columns(kRows, 64);
  const auto compiled = GatherScatterProgram::compile(program.described());
  const std::uint64_t rows = kRows;
  ProgramCursor cursor(compiled, 1000, rows * 28 * 1000);
  LayoutPiece piece;
  cursor.seek((rows * 999 + 12'345) * 28 + 10);
  ASSERT_EQ(cursor.next_pieces({&piece, 1}, 6), 1U);
  EXPECT_EQ(piece.address, 1000 + (rows * 999 + 12'345) * 64 + 42);
  EXPECT_EQ(piece.length, 6U);
  cursor.seek(cursor.total_bytes());
  EXPECT_EQ(cursor.next_pieces({&piece, 1}, 6), 0U);
  cursor.seek(cursor.total_bytes() - 1);
  ASSERT_EQ(cursor.next_pieces({&piece, 1}, 6), 1U);
  EXPECT_EQ(piece.address, 1000 + (rows * 1000 - 1) * 64 + 3);
}

TEST(ProgramCursor, routines_nested_deeper_than_the_room_in_the_cursor) {
  TestProgram program;
  constexpr int kLevels = 30;
  for (int level = 0; level < kLevels; ++level) {
    program.gosub(2, level, 100, kGosub + kIterate, kGosub);
    program.iterate(-kGosub);
  }
  program.mcopy({{0, 1}, {7, 2}});
  program.iterate(-2 - 2 * static_cast<int>(code::kBlockInts));
  program.source.depth = kLevels + 1;
  program.source.extent = 1000;
  program.total_bytes = 3000;
  EXPECT_TRUE(check_against_reference(program, 1));
}

TEST(ProgramCursor, contiguous_programs_are_known_to_be) {
  TestProgram program;
  program.copy(5, 3);
  program.iterate(-kCopy);
  program.source = {{}, 1, LayoutDensity::sparse, 5, 8, 3, 8, 0};
  const auto spaced = GatherScatterProgram::compile(program.described());
  program.source.extent = 5;
  const auto dense = GatherScatterProgram::compile(program.described());
  wire::StridedLayout strided;
  const auto is = [&](const auto& compiled, std::uint64_t total, std::uint64_t block, std::uint64_t count) {
    const ProgramCursor cursor(compiled, 100, total);
    return cursor.as_strided(strided) && strided.base == 103 && strided.block == block && strided.count == count;
  };
  EXPECT_TRUE(is(spaced, 5, 5, 1));
  EXPECT_TRUE(is(spaced, 2, 2, 1));
  EXPECT_TRUE(is(spaced, 1, 1, 1));
  EXPECT_TRUE(is(spaced, 15, 5, 3) && strided.stride == 8);
  EXPECT_FALSE(is(spaced, 14, 5, 3));
  EXPECT_FALSE(is(spaced, 0, 0, 0));
  EXPECT_TRUE(is(dense, 14, 14, 1));
  EXPECT_TRUE(is(dense, std::uint64_t{1} << 40, std::uint64_t{1} << 40, 1));
  EXPECT_EQ(ProgramCursor(spaced, 100, 14).piece_count(), 3U);
}

TEST(ProgramCursor, addresses_may_be_absolute) {
  std::vector<std::byte> memory = counted(64);
  TestProgram program;
  program.copy(4, static_cast<long>(bits(memory.data() + 8)));
  program.copy(4, static_cast<long>(bits(memory.data())));
  program.iterate(-2 * kCopy);
  const auto compiled = GatherScatterProgram::compile(program.described());
  ProgramCursor cursor(compiled, 0, 8);
  std::byte into[8];
  cursor.gather(into, 8);
  EXPECT_TRUE(std::equal(into, into + 4, memory.begin() + 8));
  EXPECT_TRUE(std::equal(into + 4, into + 8, memory.begin()));
}

TEST(ProgramCursor, moves_no_more_than_is_left) {
  std::vector<std::byte> memory = counted(64), into(64);
  TestProgram program;
  program.copy(4, 0);
  program.iterate(-kCopy);
  program.source.extent = 8;
  ProgramCursor cursor(GatherScatterProgram::compile(program.described()), bits(memory.data()), 6);
  cursor.gather(into.data(), 64);
  EXPECT_EQ(cursor.position(), 6U);
  EXPECT_EQ(into[5], memory[9]);
  EXPECT_EQ(into[6], std::byte{});
}

struct Call {
  std::vector<std::byte> inbound;
  std::byte* target;
  int operand, operation;
};
std::vector<Call> calls;

long record(void* inbound, void* target, long bytes, int operand, int operation) {
  const auto* from = static_cast<const std::byte*>(inbound);
  calls.push_back({{from, from + bytes}, static_cast<std::byte*>(target), operand, operation});
  return bytes;
}

TEST(ProgramCursor, every_block_goes_to_the_function_while_a_control_is_in_force) {
  TestProgram program;
  program.copy(4, 0);
  program.control(7, 9);
  program.copy(4, 4);
  program.copy(4, 8);
  program.control(kLeaveControl, 0);
  program.copy(4, 12);
  program.iterate(-4 * kCopy - 2 * kControl);
  program.source = {{}, 1, LayoutDensity::sparse, 16, 16, 0, 16, 4};
  std::vector<std::byte> memory(32);
  const std::vector<std::byte> data = counted(32);
  const auto compiled = GatherScatterProgram::compile(program.described());
  ProgramCursor cursor(compiled, bits(memory.data()), 32, record);
  EXPECT_FALSE(cursor.only_copies());
  EXPECT_FALSE(cursor.expect_any_order());
  EXPECT_EQ(cursor.atom_size(), 4U);
  calls.clear();
  cursor.scatter(data.data(), 6);
  cursor.scatter(data.data() + 6, 26);
  ASSERT_EQ(calls.size(), 5U);  // the first block came in two packets
  EXPECT_EQ(calls[0].inbound, std::vector<std::byte>(data.begin() + 4, data.begin() + 6));
  EXPECT_EQ(calls[1].target, memory.data() + 6);
  EXPECT_EQ(calls[2].target, memory.data() + 8);
  EXPECT_EQ(calls[4].target, memory.data() + 24);
  EXPECT_EQ(calls[4].operand, 9);
  EXPECT_EQ(calls[4].operation, 7);
  for (std::size_t i = 0; i < memory.size(); ++i) {
    EXPECT_EQ(memory[i], i % 16 < 4 || i % 16 >= 12 ? data[i] : std::byte{}) << i;
  }
  // A packet that comes out of order finds the mode of its place.
  calls.clear();
  cursor.seek(16 + 8);
  cursor.scatter(data.data(), 2);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].operation, 7);
}

TEST(ProgramCursor, clones_begin_at_the_beginning_and_keep_the_program) {
  std::vector<std::byte> memory = counted(64), into(4);
  TestProgram program;
  program.copy(4, 0);
  program.iterate(-kCopy);
  program.source.extent = 8;
  auto compiled = GatherScatterProgram::compile(program.described());
  auto cursor = std::make_unique<ProgramCursor>(compiled, bits(memory.data()), 8);
  cursor->seek(5);
  const std::unique_ptr<LayoutCursor> copy = cursor->clone(), other = cursor->detached();
  const std::weak_ptr<const GatherScatterProgram> alive = compiled;
  compiled.reset();
  cursor.reset();
  EXPECT_FALSE(alive.expired());
  EXPECT_EQ(copy->position(), 0U);
  copy->gather(into.data(), 4);
  EXPECT_TRUE(std::equal(into.begin(), into.end(), memory.begin()));
  EXPECT_EQ(other->bytes_left(), 8U);
}

TEST(StridedCopy, strides_may_go_either_way) {
  constexpr std::uint64_t kBlocks = 9;
  for (const std::size_t bytes : {1, 2, 3, 4, 8, 16, 32, 33, 64, 100, 300}) {
    const std::vector<std::byte> source = counted(bytes * kBlocks);
    std::vector<std::byte> target(bytes * kBlocks * 2, std::byte{0xee});
    // The last block of the source goes first.
    copy_strided(target.data(), bytes * 2, source.data() + bytes * (kBlocks - 1), 0 - std::uint64_t{bytes}, bytes,
                 kBlocks);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::size_t block = i / (bytes * 2), inside = i % (bytes * 2);
      const std::byte wanted = inside < bytes ? source[(kBlocks - 1 - block) * bytes + inside] : std::byte{0xee};
      ASSERT_EQ(target[i], wanted) << bytes << " byte " << i;
    }
  }
}

}  // namespace
}  // namespace openlapi
