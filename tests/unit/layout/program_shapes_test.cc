// Programs of every shape that is lowered in a way of its own, run in packets and from any position like the reference
// machine; and what is in force of a CONTROL there.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <memory>
#include <vector>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/program_cursor.h"
#include "tests/support/gather_scatter_reference.h"

namespace openlapi {
namespace {

constexpr int kGosub = static_cast<int>(code::kGosubInts);

// main, and routines that it or routines behind them call: each is a list of instructions.
struct Routine {
  struct Call {
    std::size_t routine;
    int count;
    long offset, stride;
  };
  struct Control {
    int operation, operand;
  };
  // One of these means something.
  struct Step {
    std::vector<CodeBlock> blocks;
    std::vector<Call> call;
    std::vector<Control> control;
  };
  std::vector<Step> steps;

  Routine& copy(std::int64_t bytes, std::int64_t offset) { return blocks({{offset, bytes}}); }
  Routine& blocks(std::vector<CodeBlock> list) { return steps.push_back({std::move(list), {}, {}}), *this; }
  Routine& call(std::size_t routine, int count, long offset, long stride) {
    return steps.push_back({{}, {{routine, count, offset, stride}}, {}}), *this;
  }
  Routine& control(int operation, int operand) { return steps.push_back({{}, {}, {{operation, operand}}}), *this; }

  int ints() const {
    TestProgram program;
    append_to(program, {});
    return static_cast<int>(program.code.size());
  }
  // `starts`: of all routines; empty: only the length matters.
  void append_to(TestProgram& program, const std::vector<int>& starts) const {
    const int start = static_cast<int>(program.code.size());
    for (const Step& step : steps) {
      const int at = static_cast<int>(program.code.size());
      if (!step.call.empty()) {
        const Call& call = step.call[0];
        program.gosub(call.count, call.offset, call.stride, starts.empty() ? 0 : starts[call.routine] - at, kGosub);
      } else if (!step.control.empty()) {
        program.control(step.control[0].operation, step.control[0].operand);
      } else if (step.blocks.size() == 1) {
        program.copy(static_cast<long>(step.blocks[0].bytes), static_cast<long>(step.blocks[0].offset));
      } else {
        program.mcopy(step.blocks);
      }
    }
    program.iterate(start - static_cast<int>(program.code.size()));
  }
};

TestProgram program_of(const std::vector<Routine>& routines, std::int64_t extent) {
  std::vector<int> starts{0};
  for (const Routine& routine : routines) starts.push_back(starts.back() + routine.ints());
  TestProgram program;
  for (const Routine& routine : routines) routine.append_to(program, starts);
  program.source.depth = static_cast<int>(routines.size());
  program.source.extent = extent;
  return program;
}

// Three applications, whole and cut off.
void expect_as_reference(const std::vector<Routine>& routines, std::int64_t extent = 700) {
  TestProgram program = program_of(routines, extent);
  const auto compiled = GatherScatterProgram::compile(program.described());
  ASSERT_EQ(compiled->fault, ProgramFault::none);
  for (const std::uint64_t total : {3 * compiled->bytes, 2 * compiled->bytes + 1, compiled->bytes}) {
    program.total_bytes = total;
    for (std::uint64_t seed = 1; seed <= 12; ++seed) ASSERT_TRUE(check_against_reference(program, seed));
  }
}

using Routines = std::vector<Routine>;

TEST(ProgramShapes, RoutinesOfAByteOrOfNothing) {
  expect_as_reference(Routines{Routine().call(1, 3, 5, 2), Routine().copy(1, 0)});
  expect_as_reference(Routines{Routine().copy(1, 3).call(1, 1, 9, 0), Routine().copy(1, 0).copy(1, 4)});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 3, 5, 2).copy(2, 30), Routine().copy(0, 0)});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 0, 5, 2).copy(2, 30), Routine().copy(3, 0)});
}

TEST(ProgramShapes, WithoutBytesThereIsNothingToVisit) {
  const TestProgram program = program_of({Routine().call(1, 3, 0, 8), Routine().copy(0, 5)}, 8);
  ProgramCursor cursor(GatherScatterProgram::compile(program.described()), 0, 0);
  LayoutPiece piece;
  EXPECT_EQ(cursor.next_pieces({&piece, 1}, 8), 0U);
  cursor.gather(nullptr, 0);
  cursor.scatter(nullptr, 8);
  cursor.seek(0);
  EXPECT_EQ(cursor.position(), 0U);
  EXPECT_EQ(cursor.piece_count(), 0U);
}

TEST(ProgramShapes, CallsOfOneBlockInARowAndInRowsOfRows) {
  const Routine block = Routine().copy(4, 2);
  for (const int count : {1, 2, 3, 7}) {
    for (const long stride : {4L, 9L, -9L, 0L}) {
      expect_as_reference(Routines{Routine().call(1, count, 80, stride), block});
      expect_as_reference(Routines{Routine().copy(3, 200).call(1, count, 80, stride).copy(3, 203), block});
    }
  }
  // A row of three, 16 apart: four of these go on at that distance, or leave a gap.
  for (const long stride : {48L, 50L}) {
    expect_as_reference(Routines{Routine().call(1, 4, 0, stride), Routine().call(2, 3, 0, 16), block});
  }
}

// Whatever is not one block never becomes part of one, on either side.
TEST(ProgramShapes, BlocksBesideRows) {
  const Routine block = Routine().copy(4, 0);
  expect_as_reference(Routines{Routine().call(1, 3, 0, 16).copy(4, 4), block});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 3, 4, 16), block});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 2, 4, 30), Routine().copy(4, 0).copy(2, 9)});
  Routine around;
  for (int i = 0; i < 3; ++i) around.copy(4, 8 * i);
  around.call(1, 2, 24, 100);
  for (int i = 4; i < 8; ++i) around.copy(4, 8 * i);
  expect_as_reference(Routines{around, block});
}

TEST(ProgramShapes, EqualDistancesWithOneBlockUnlikeTheOthers) {
  for (std::size_t other = 0; other < 8; ++other) {
    for (const std::int64_t bytes : {2, 5}) {
      std::vector<CodeBlock> blocks;
      for (std::int64_t i = 0; i < 8; ++i) blocks.push_back({8 * i, 4});
      blocks[other].bytes = bytes;
      expect_as_reference(Routines{Routine().blocks(blocks)});
      blocks[other].bytes = 4;
      blocks[other].offset += 300;
      expect_as_reference(Routines{Routine().blocks(blocks)});
    }
  }
}

TEST(ProgramShapes, AModeLastsUntilTheNextWhereverItWasChosen) {
  const Routine controlled = Routine().copy(2, 0).control(3, 4).copy(4, 2);
  expect_as_reference(Routines{Routine().control(1, 2).copy(4, 0).control(-1, 0).copy(4, 8)});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 1, 20, 0).copy(4, 8), controlled});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 3, 20, 10).copy(4, 8), controlled});
  expect_as_reference(Routines{Routine().control(0, 1).call(1, 3, 20, 10).copy(4, 8), Routine().copy(3, 1)});
  // One that is called later is lowered first, and chooses nothing for what comes before it.
  expect_as_reference(Routines{Routine().call(1, 2, 0, 100), Routine().copy(4, 40).call(2, 1, 0, 0).copy(5, 20),
                               Routine().control(2, 5).copy(6, 0)});
  // Routines that only choose.
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 2, 0, 0).copy(4, 8).call(2, 1, 0, 0).copy(4, 16),
                               Routine().control(2, 5), Routine().control(-1, 0)});
  expect_as_reference(Routines{Routine().copy(4, 0).call(1, 0, 0, 0).copy(4, 8), Routine().control(2, 5)});
}

std::vector<LayoutPiece> pieces_of(ProgramCursor& cursor, std::size_t room, std::uint64_t bytes) {
  std::vector<LayoutPiece> pieces(room);
  pieces.resize(cursor.next_pieces(pieces, bytes));
  return pieces;
}

void expect_pieces(ProgramCursor& cursor, std::size_t room, std::uint64_t bytes, std::vector<LayoutPiece> expected) {
  const std::vector<LayoutPiece> pieces = pieces_of(cursor, room, bytes);
  ASSERT_EQ(pieces.size(), expected.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].address, expected[i].address) << i;
    EXPECT_EQ(pieces[i].length, expected[i].length) << i;
  }
}

// Where one application ends, the next begins.
TEST(ProgramShapes, NeighboursAreOnePiece) {
  const TestProgram program = program_of({Routine().copy(4, 0).copy(4, 8)}, 12);
  ProgramCursor cursor(GatherScatterProgram::compile(program.described()), 1000, 24);
  expect_pieces(cursor, 8, 24, {{1000, 4}, {1008, 8}, {1020, 8}, {1032, 4}});
  EXPECT_EQ(cursor.bytes_left(), 0U);
  cursor.seek(4);
  expect_pieces(cursor, 8, 12, {{1008, 8}, {1020, 4}});
}

// Under a CONTROL blocks stay blocks, and are handed out together all the same.
TEST(ProgramShapes, ARowWithoutGapsIsOnePieceAndEndsWhereItEnds) {
  const TestProgram program =
      program_of({Routine().call(1, 3, 0, 4).copy(5, 100).control(-1, 0), Routine().copy(4, 0)}, 200);
  for (const std::size_t room : {1u, 2u, 3u, 4u}) {
    ProgramCursor cursor(GatherScatterProgram::compile(program.described()), 0, 34);
    std::uint64_t position = 0;
    while (cursor.bytes_left() != 0) {
      for (const LayoutPiece& piece : pieces_of(cursor, room, 12)) {
        for (std::uint64_t i = 0; i < piece.length; ++i, ++position) {
          const std::uint64_t inside = position % 17, from = position / 17 * 200;
          ASSERT_EQ(piece.address + i, from + (inside < 12 ? inside : 88 + inside)) << room;
        }
      }
      ASSERT_EQ(cursor.position(), position);
    }
    EXPECT_EQ(position, 34U);
  }
}

TEST(ProgramShapes, PiecesAreCountedByApplications) {
  const TestProgram program = program_of({Routine().copy(2, 0).copy(3, 8)}, 12);
  const auto compiled = GatherScatterProgram::compile(program.described());
  const auto pieces = [&](std::uint64_t total) { return ProgramCursor(compiled, 0, total).piece_count(); };
  EXPECT_EQ(pieces(0), 0U);
  for (const std::uint64_t total : {1u, 5u}) EXPECT_EQ(pieces(total), 2U) << total;
  for (const std::uint64_t total : {6u, 10u}) EXPECT_EQ(pieces(total), 4U) << total;
  EXPECT_EQ(pieces(11), 6U);
  EXPECT_EQ(pieces(5'000'000), 2'000'000U);
}

long taken_at_a_time = 0;
std::vector<long> asked;

long take_a_few(void*, void*, long bytes, int, int) {
  asked.push_back(bytes);
  return taken_at_a_time;
}

// With fewer bytes than it was given it is called again for the rest; anything else counts as all.
TEST(ProgramShapes, AFunctionIsCalledUntilAllIsTaken) {
  const TestProgram program = program_of({Routine().control(1, 1).copy(3, 0)}, 8);
  const auto compiled = GatherScatterProgram::compile(program.described());
  std::array<std::byte, 3> data{}, target{};
  for (const auto& [taken, calls] : {std::pair{1L, std::vector<long>{3, 2, 1}}, std::pair{2L, std::vector<long>{3, 1}},
                                     std::pair{3L, std::vector<long>{3}}, std::pair{4L, std::vector<long>{3}},
                                     std::pair{0L, std::vector<long>{3}}, std::pair{-1L, std::vector<long>{3}}}) {
    taken_at_a_time = taken;
    asked.clear();
    ProgramCursor cursor(compiled, reinterpret_cast<std::uintptr_t>(target.data()), 3, take_a_few);
    cursor.scatter(data.data(), 3);
    EXPECT_EQ(asked, calls) << taken;
  }
}

// The mode of the end does not last to the beginning when a program goes back there.
TEST(ProgramShapes, FromTheBeginningNoModeIsInForce) {
  const TestProgram program = program_of({Routine().copy(4, 0).control(1, 1).copy(4, 4)}, 8);
  std::array<std::byte, 8> data{}, target{};
  ProgramCursor cursor(GatherScatterProgram::compile(program.described()),
                       reinterpret_cast<std::uintptr_t>(target.data()), 8, take_a_few);
  taken_at_a_time = 0;
  cursor.scatter(data.data(), 8);
  asked.clear();
  cursor.seek(0);
  cursor.scatter(data.data(), 4);
  EXPECT_TRUE(asked.empty());
}

// The library finds out that a target is not there; the function, whose faults are its own, is not called for it.
TEST(ProgramShapes, AFunctionGetsNoTargetThatCannotBeWritten) {
  catch_memory_faults();
  void* const page = mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(page, MAP_FAILED);
  const TestProgram program = program_of({Routine().control(1, 1).copy(4, 0)}, 8);
  std::array<std::byte, 4> data{};
  ProgramCursor cursor(GatherScatterProgram::compile(program.described()), reinterpret_cast<std::uintptr_t>(page), 4,
                       take_a_few);
  asked.clear();
  EXPECT_FALSE(survives([&] { cursor.scatter(data.data(), 4); }));
  EXPECT_TRUE(asked.empty());
  munmap(page, 4096);
}

TEST(ProgramShapes, TheCopiesOfAVerifiedProgramAreGuarded) {
  for (const bool verified : {false, true}) {
    TestProgram program = program_of({Routine().copy(4, 0)}, 8);
    program.source.verified = verified;
    ProgramCursor cursor(GatherScatterProgram::compile(program.described()), 0, 4);
    EXPECT_EQ(cursor.guarded(), verified);
    cursor.set_guarded(!verified);
    EXPECT_EQ(cursor.guarded(), !verified);
    EXPECT_EQ(cursor.clone()->guarded(), !verified);
    EXPECT_EQ(cursor.detached()->guarded(), !verified);
  }
}

}  // namespace
}  // namespace openlapi
