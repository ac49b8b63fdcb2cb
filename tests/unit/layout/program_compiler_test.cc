#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "tests/support/gather_scatter_reference.h"

namespace openlapi {
namespace {

constexpr int kCopy = static_cast<int>(code::kCopyInts);
constexpr int kGosub = static_cast<int>(code::kGosubInts);
constexpr int kIterate = static_cast<int>(code::kIterateInts);
constexpr int kControl = static_cast<int>(code::kControlInts);
constexpr long kMost = std::numeric_limits<long>::max();

// `bytes` at `offset`, described as ending at `rightmost`.
TestProgram one_copy_to(long rightmost, long bytes, long offset, long extent) {
  TestProgram program;
  program.copy(bytes, offset);
  program.iterate(-kCopy);
  program.source = {{}, 1, LayoutDensity::sparse, bytes, extent, offset, rightmost, 0};
  return program;
}

// The same, correctly described.
TestProgram one_copy(long bytes, long offset, long extent) {
  return one_copy_to(offset + bytes, bytes, offset, extent);
}

ProgramFault fault(const TestProgram& program) { return GatherScatterProgram::compile(program.described())->fault; }

ProgramFault disagreement(const TestProgram& program) {
  const auto compiled = GatherScatterProgram::compile(program.described());
  EXPECT_EQ(compiled->fault, ProgramFault::none);
  return compiled->disagreement;
}

TEST(ProgramCompiler, accepts_what_the_guide_shows) {
  // Chapter 6: an integer and a character, in an array. Chapter 18: every second integer.
  TestProgram structure = one_copy(5, 0, 8);
  structure.source.density = LayoutDensity::contiguous;
  EXPECT_EQ(disagreement(structure), ProgramFault::none);
  EXPECT_EQ(disagreement(one_copy(4, 0, 8)), ProgramFault::none);
}

TEST(ProgramCompiler, refuses_code_that_ends_too_early) {
  EXPECT_EQ(fault(TestProgram{}), ProgramFault::other);
  const TestProgram whole = one_copy(4, 0, 8);
  for (std::size_t ints = 1; ints < whole.code.size(); ++ints) {
    TestProgram cut = whole;
    cut.code.resize(ints);
    EXPECT_EQ(fault(cut), ProgramFault::branch) << ints;
  }
}

TEST(ProgramCompiler, refuses_unknown_instructions) {
  for (const int opcode : {0, 6, -1, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    TestProgram program = one_copy(4, 0, 8);
    program.code[0] = opcode;
    EXPECT_EQ(fault(program), ProgramFault::opcode) << opcode;
  }
}

TEST(ProgramCompiler, refuses_negative_sizes_and_counts) {
  EXPECT_EQ(fault(one_copy(-1, 0, 8)), ProgramFault::copy_size);
  TestProgram blocks;
  blocks.mcopy({{0, 4}, {8, -4}});
  blocks.iterate(-static_cast<int>(blocks.code.size()));
  EXPECT_EQ(fault(blocks), ProgramFault::copy_size);
  blocks.code[1] = -1;
  EXPECT_EQ(fault(blocks), ProgramFault::copy_size);
  blocks.code[1] = std::numeric_limits<int>::max();
  EXPECT_EQ(fault(blocks), ProgramFault::branch);
  TestProgram call;
  call.gosub(-1, 0, 0, kGosub + kIterate, kGosub);
  call.iterate(-kGosub);
  call.iterate(0);
  EXPECT_EQ(fault(call), ProgramFault::repetitions);
  TestProgram control = one_copy(4, 0, 8);
  control.code.clear();
  control.control(-2, 0);
  control.iterate(-kControl);
  EXPECT_EQ(fault(control), ProgramFault::control);
}

// main: GOSUB, ITERATE; behind it a routine of one COPY.
TestProgram one_call(int reps, int to, int back) {
  TestProgram program;
  program.gosub(reps, 0, 8, to, back);
  program.iterate(-kGosub);
  program.copy(4, 0);
  program.iterate(-kCopy);
  const std::int64_t calls = reps;
  program.source = {{}, 2, LayoutDensity::sparse, 4 * calls, 8 * calls, 0, 8 * calls, 0};
  return program;
}

TEST(ProgramCompiler, refuses_branches_out_of_the_code) {
  EXPECT_EQ(disagreement(one_call(3, kGosub + kIterate, kGosub)), ProgramFault::none);
  const int size = static_cast<int>(one_call(1, 0, 0).code.size());
  for (const int out : {-1, size, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()}) {
    EXPECT_EQ(fault(one_call(3, out, kGosub)), ProgramFault::branch) << out;
    EXPECT_EQ(fault(one_call(3, kGosub + kIterate, out)), ProgramFault::branch) << out;
  }
}

TEST(ProgramCompiler, refuses_programs_that_never_end) {
  // A call that returns to itself, and one that returns behind the caller's beginning.
  EXPECT_EQ(fault(one_call(3, kGosub + kIterate, 0)), ProgramFault::branch);
  TestProgram circle;
  circle.copy(4, 0);
  circle.gosub(1, 0, 0, kGosub + kIterate, -kCopy);
  circle.iterate(0);
  circle.iterate(0);
  circle.source.depth = 5;
  EXPECT_EQ(fault(circle), ProgramFault::branch);
  // A routine that calls itself.
  EXPECT_EQ(fault(one_call(1, 0, kGosub)), ProgramFault::stack);
}

TEST(ProgramCompiler, refuses_calls_deeper_than_the_depth) {
  TestProgram program = one_call(3, kGosub + kIterate, kGosub);
  for (const int depth : {1, 0, -1, std::numeric_limits<int>::min()}) {
    program.source.depth = depth;
    EXPECT_EQ(fault(program), ProgramFault::stack) << depth;
  }
  program.source.depth = std::numeric_limits<int>::max();
  EXPECT_EQ(fault(program), ProgramFault::none);
}

TEST(ProgramCompiler, an_iterate_that_does_not_repeat_is_good_for_one_application) {
  TestProgram program = one_copy(4, 0, 8);
  for (const int to : {0, -1, -kCopy - 1, 7, std::numeric_limits<int>::min()}) {
    program.code.back() = to;
    EXPECT_EQ(disagreement(program), ProgramFault::branch) << to;
    const auto compiled = GatherScatterProgram::compile(program.described());
    EXPECT_EQ(compiled->scatter_fault(4, false), ProgramFault::none);
    EXPECT_EQ(compiled->scatter_fault(5, false), ProgramFault::branch);
    EXPECT_EQ(compiled->gather_fault(5), ProgramFault::branch);
  }
  TestProgram called = one_call(2, kGosub + kIterate, kGosub);
  called.code.back() = 0;
  EXPECT_EQ(fault(called), ProgramFault::branch);
  TestProgram called_once = one_call(1, kGosub + kIterate, kGosub);
  called_once.code.back() = 0;
  EXPECT_EQ(disagreement(called_once), ProgramFault::branch);
}

TEST(ProgramCompiler, the_description_must_agree_with_the_code) {
  const TestProgram good = one_copy(5, 3, 8);
  ASSERT_EQ(disagreement(good), ProgramFault::none);
  const auto changed = [&](auto change) {
    TestProgram program = good;
    change(program.source);
    return disagreement(program);
  };
  EXPECT_EQ(changed([](ProgramSource& s) { s.size = 4; }), ProgramFault::other);
  EXPECT_EQ(changed([](ProgramSource& s) { s.size = -5; }), ProgramFault::other);
  EXPECT_EQ(changed([](ProgramSource& s) { s.leftmost = 4; }), ProgramFault::other);
  EXPECT_EQ(changed([](ProgramSource& s) { s.rightmost = 7; }), ProgramFault::other);
  EXPECT_EQ(changed([](ProgramSource& s) { s.leftmost = -100; }), ProgramFault::none);
  EXPECT_EQ(changed([](ProgramSource& s) { s.density = LayoutDensity::contiguous; }), ProgramFault::none);
  EXPECT_EQ(changed([](ProgramSource& s) { s.density = LayoutDensity::unit; }), ProgramFault::other);
  EXPECT_EQ(changed([](ProgramSource& s) {
              s.density = LayoutDensity::unit;
              s.extent = 5;
            }),
            ProgramFault::none);
  TestProgram gaps;
  gaps.mcopy({{0, 4}, {8, 4}});
  gaps.iterate(-static_cast<int>(gaps.code.size()));
  gaps.source = {{}, 1, LayoutDensity::contiguous, 8, 12, 0, 12, 0};
  EXPECT_EQ(disagreement(gaps), ProgramFault::other);
  // The same in order and without a gap is one block.
  TestProgram joined = gaps;
  joined.code.clear();
  joined.mcopy({{0, 4}, {4, 0}, {4, 8}});
  joined.iterate(-static_cast<int>(joined.code.size()));
  joined.source.size = 12;
  EXPECT_EQ(disagreement(joined), ProgramFault::none);
}

TEST(ProgramCompiler, lengths_that_overflow_are_refused) {
  TestProgram twice;
  twice.copy(kMost, 0);
  twice.copy(kMost, 0);
  twice.iterate(-2 * kCopy);
  if (sizeof(long) == 8) {
    EXPECT_EQ(fault(twice), ProgramFault::other);
  }
  TestProgram often = one_call(std::numeric_limits<int>::max(), kGosub + kIterate, kGosub);
  EXPECT_EQ(fault(often), ProgramFault::none);
  TestProgram nested;
  for (int level = 0; level < 3; ++level) {
    nested.gosub(std::numeric_limits<int>::max(), 0, kMost, kGosub + kIterate, kGosub);
    nested.iterate(-kGosub);
  }
  nested.copy(4, kMost);
  nested.iterate(-kCopy);
  nested.source.depth = 4;
  EXPECT_EQ(fault(nested), ProgramFault::other);
  if (sizeof(long) == 8) {
    EXPECT_EQ(disagreement(one_copy_to(kMost, 4, kMost - 2, 0)), ProgramFault::other);
  }
}

TEST(ProgramCompiler, control_only_where_it_is_allowed) {
  TestProgram program;
  program.control(3, 4);
  program.copy(8, 0);
  program.iterate(-kControl - kCopy);
  program.source = {{}, 1, LayoutDensity::sparse, 8, 8, 0, 8, 0};
  EXPECT_EQ(disagreement(program), ProgramFault::none);
  const auto compiled = GatherScatterProgram::compile(program.described());
  EXPECT_EQ(compiled->gather_fault(8), ProgramFault::control);
  EXPECT_EQ(compiled->scatter_fault(8, false), ProgramFault::control);
  EXPECT_EQ(compiled->scatter_fault(8, true), ProgramFault::none);
  for (const LayoutDensity density : {LayoutDensity::contiguous, LayoutDensity::unit}) {
    program.source.density = density;
    EXPECT_EQ(disagreement(program), ProgramFault::control);
  }
}

TEST(ProgramCompiler, a_program_without_bytes_moves_nothing_and_loops_for_nothing) {
  TestProgram empty;
  for (int level = 0; level < 5; ++level) {
    empty.gosub(std::numeric_limits<int>::max(), 0, 1, kGosub + kIterate, kGosub);
    empty.iterate(-kGosub);
  }
  empty.copy(0, 5);
  empty.iterate(-kCopy);
  empty.source.depth = 6;
  EXPECT_EQ(disagreement(empty), ProgramFault::none);
  const auto compiled = GatherScatterProgram::compile(empty.described());
  EXPECT_EQ(compiled->scatter_fault(0, false), ProgramFault::none);
  EXPECT_EQ(compiled->scatter_fault(1, false), ProgramFault::other);
}

// Time and memory for any code are in proportion to its length.
TEST(ProgramCompiler, routines_that_share_instructions_do_not_multiply) {
  TestProgram program;
  constexpr int kCalls = 2000;
  for (int i = 0; i < kCalls; ++i) program.gosub(1, 0, 0, (kCalls - i) * kGosub + i * kCopy, kGosub);
  for (int i = 0; i < kCalls; ++i) program.copy(4, 0);
  program.iterate(-kGosub * kCalls - kCopy * kCalls);
  program.source.depth = 3;
  EXPECT_EQ(fault(program), ProgramFault::branch);
}

TEST(ProgramCompiler, loops_over_one_block_become_one_operation) {
  const auto compiled = GatherScatterProgram::compile(one_call(1000, kGosub + kIterate, kGosub).described());
  EXPECT_EQ(compiled->bytes, 4000U);
  EXPECT_EQ(compiled->pieces, 1000U);
  EXPECT_EQ(compiled->root.kind, LayoutOperation::Kind::copy);
  EXPECT_EQ(compiled->root.length, 4U);
  EXPECT_EQ(compiled->root.stride, 8U);
}

// `count` blocks of 4 bytes, 8 apart, from `first` on.
std::vector<CodeBlock> equal_blocks(int count, std::int64_t first) {
  std::vector<CodeBlock> blocks;
  for (int i = 0; i < count; ++i) blocks.push_back({first + 8 * i, 4});
  return blocks;
}

std::vector<LayoutOperation> operations_of(const std::vector<CodeBlock>& blocks) {
  TestProgram program;
  program.mcopy(blocks);
  program.iterate(-static_cast<int>(program.code.size()));
  program.source.extent = 1000;
  program.total_bytes = 3000;
  EXPECT_TRUE(check_against_reference(program, 1));
  return GatherScatterProgram::compile(program.described())->operations;
}

TEST(ProgramCompiler, enough_equal_blocks_at_equal_distances_become_one_operation) {
  const std::vector<LayoutOperation> six = operations_of(equal_blocks(6, 3));
  ASSERT_EQ(six.size(), 1U);
  EXPECT_EQ(six[0].offset, 3U);
  EXPECT_EQ(six[0].length, 4U);
  EXPECT_EQ(six[0].stride, 8U);
  EXPECT_EQ(six[0].count, 6U);
  EXPECT_EQ(operations_of(equal_blocks(5, 3)).size(), 5U) << "not worth it";
}

TEST(ProgramCompiler, blocks_join_those_before_and_behind_only_where_they_are_like_them) {
  const std::int64_t behind = 8 * 6;
  for (const CodeBlock& other : {CodeBlock{behind, 5}, CodeBlock{behind + 1, 4}, CodeBlock{-100, 4}}) {
    SCOPED_TRACE(other.offset);
    std::vector<CodeBlock> blocks = equal_blocks(6, 0);
    blocks.push_back(other);
    const std::vector<LayoutOperation> last = operations_of(blocks);
    ASSERT_EQ(last.size(), 2U);
    EXPECT_EQ(last[0].count, 6U);
    EXPECT_EQ(last[1].offset, static_cast<std::uint64_t>(other.offset));
    EXPECT_EQ(last[1].count, 1U);
  }
  std::vector<CodeBlock> blocks = equal_blocks(6, 0);
  blocks.insert(blocks.begin(), {-8, 5});
  const std::vector<LayoutOperation> first = operations_of(blocks);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_EQ(first[0].count, 1U);
  EXPECT_EQ(first[1].offset, 0U);
  EXPECT_EQ(first[1].count, 6U);
  blocks = equal_blocks(6, 0);
  const std::vector<CodeBlock> more = equal_blocks(7, 200);
  blocks.insert(blocks.end(), more.begin(), more.end());
  const std::vector<LayoutOperation> two = operations_of(blocks);
  ASSERT_EQ(two.size(), 2U);
  EXPECT_EQ(two[0].count, 6U);
  EXPECT_EQ(two[1].offset, 200U);
  EXPECT_EQ(two[1].count, 7U);
}

TEST(ProgramCompiler, calls_and_blocks_under_a_control_stay_what_they_are) {
  TestProgram program;
  program.mcopy(equal_blocks(6, 0));
  const int blocks = static_cast<int>(program.code.size());
  program.gosub(3, 48, 16, kGosub + kIterate, kGosub);
  program.iterate(-kGosub - blocks);
  const int start = static_cast<int>(program.code.size());
  program.mcopy({{0, 4}, {9, 2}});
  program.iterate(start - static_cast<int>(program.code.size()));
  program.source = {{}, 2, LayoutDensity::sparse, 42, 1000, 0, 1000, 0};
  program.total_bytes = 100;
  EXPECT_TRUE(check_against_reference(program, 1));
  const auto compiled = GatherScatterProgram::compile(program.described());
  ASSERT_EQ(compiled->operations.size(), 4U) << "two blocks; those joined, and the call";
  EXPECT_EQ(compiled->operations[2].count, 6U);
  EXPECT_EQ(compiled->operations[3].kind, LayoutOperation::Kind::call);
  EXPECT_EQ(compiled->pieces, 12U);

  TestProgram controlled;
  controlled.control(1, 2);
  controlled.mcopy(equal_blocks(6, 0));
  controlled.iterate(-static_cast<int>(controlled.code.size()));
  controlled.source = {{}, 1, LayoutDensity::sparse, 24, 1000, 0, 1000, 0};
  EXPECT_EQ(GatherScatterProgram::compile(controlled.described())->operations.size(), 7U);
  EXPECT_EQ(GatherScatterProgram::compile(controlled.described())->pieces, 6U) << "a CONTROL is none";
}

// What a description must hold is counted anew for each routine.
TEST(ProgramCompiler, each_routine_has_its_own_bounds) {
  TestProgram program;
  program.gosub(1, -500, 0, kGosub + kIterate, kGosub);
  program.iterate(-kGosub);
  const int start = static_cast<int>(program.code.size());
  program.copy(4, 500);
  program.iterate(start - static_cast<int>(program.code.size()));
  program.source = {{}, 2, LayoutDensity::sparse, 4, 8, 0, 4, 0};
  EXPECT_EQ(disagreement(program), ProgramFault::none);
}

}  // namespace
}  // namespace openlapi
