// What programs may touch and how long they may be: the bounds that a description must keep, up to the last byte, and
// lengths up to 63 bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "tests/support/gather_scatter_reference.h"

namespace openlapi {
namespace {

constexpr int kCopy = static_cast<int>(code::kCopyInts);
constexpr int kGosub = static_cast<int>(code::kGosubInts);
constexpr int kIterate = static_cast<int>(code::kIterateInts);
constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr bool kLongHas64Bits = sizeof(long) == 8;

TestProgram one_copy(std::int64_t bytes, std::int64_t offset, std::int64_t extent) {
  TestProgram program;
  program.copy(static_cast<long>(bytes), static_cast<long>(offset));
  program.iterate(-kCopy);
  program.source = {{}, 1, LayoutDensity::sparse, bytes, extent, kLeast, kMost, 0};
  return program;
}

// `count` calls of a routine of one copy.
TestProgram called_copy(int count, std::int64_t offset, std::int64_t stride, std::int64_t bytes, std::int64_t inner) {
  TestProgram program;
  program.gosub(count, static_cast<long>(offset), static_cast<long>(stride), kGosub + kIterate, kGosub);
  program.iterate(-kGosub);
  program.copy(static_cast<long>(bytes), static_cast<long>(inner));
  program.iterate(-kCopy);
  const auto size = static_cast<std::uint64_t>(bytes) * static_cast<std::uint64_t>(count);
  program.source = {{}, 2, LayoutDensity::sparse, static_cast<std::int64_t>(size), 0, kLeast, kMost, 0};
  return program;
}

std::shared_ptr<const GatherScatterProgram> compiled(const TestProgram& program) {
  return GatherScatterProgram::compile(program.described());
}

TEST(ProgramBounds, AreThoseOfAllPasses) {
  for (const int count : {1, 2, 5}) {
    for (const std::int64_t offset : {-100, 0, 7}) {
      for (const std::int64_t stride : {-16, -1, 0, 1, 24}) {
        TestProgram program = called_copy(count, offset, stride, 4, 10);
        const std::int64_t travel = stride * (count - 1), first = offset + 10;
        program.source.leftmost = first + std::min<std::int64_t>(travel, 0);
        program.source.rightmost = first + 4 + std::max<std::int64_t>(travel, 0);
        SCOPED_TRACE(testing::Message() << count << " passes from " << offset << ", " << stride << " apart");
        EXPECT_EQ(compiled(program)->disagreement, ProgramFault::none);
        ++program.source.leftmost;
        EXPECT_EQ(compiled(program)->disagreement, ProgramFault::other);
        --program.source.leftmost, --program.source.rightmost;
        EXPECT_EQ(compiled(program)->disagreement, ProgramFault::other);
      }
    }
  }
}

// One byte is enough to touch what a program must not.
TEST(ProgramBounds, HoldForASingleByte) {
  TestProgram program = one_copy(1, 7, 0);
  program.source.leftmost = 7, program.source.rightmost = 8;
  EXPECT_EQ(compiled(program)->disagreement, ProgramFault::none);
  program.source.rightmost = 7;
  EXPECT_EQ(compiled(program)->disagreement, ProgramFault::other);
  program.source.leftmost = 8, program.source.rightmost = 9;
  EXPECT_EQ(compiled(program)->disagreement, ProgramFault::other);
}

// No description can agree with places that have no 64 bits, whichever number it is that grows too large, and whatever
// comes behind them.
TEST(ProgramBounds, PlacesBeyond64BitsAreRefused) {
  if (!kLongHas64Bits) return;
  const auto fits = [](const TestProgram& program) { return compiled(program)->disagreement == ProgramFault::none; };
  EXPECT_TRUE(fits(one_copy(4, kMost - 4, 0)));
  EXPECT_FALSE(fits(one_copy(4, kMost - 3, 0)));
  EXPECT_TRUE(fits(called_copy(1, 0, 0, 4, kMost - 4)));
  EXPECT_FALSE(fits(called_copy(1, 0, 0, 4, kMost - 3))) << "inside";
  EXPECT_TRUE(fits(called_copy(1, 16, 0, 4, kMost - 20)));
  EXPECT_FALSE(fits(called_copy(1, 17, 0, 4, kMost - 20))) << "its end, by the call's offset";
  EXPECT_FALSE(fits(called_copy(1, 30, 0, 4, kMost - 20))) << "its beginning, by the call's offset";
  EXPECT_TRUE(fits(called_copy(1, -16, 0, 4, kLeast + 16)));
  EXPECT_FALSE(fits(called_copy(1, -17, 0, 4, kLeast + 16)));
  EXPECT_TRUE(fits(called_copy(3, 0, (kMost - 4) / 2, 4, 0)));
  EXPECT_FALSE(fits(called_copy(3, 8, (kMost - 4) / 2, 4, 0))) << "its last pass";
  EXPECT_FALSE(fits(called_copy(3, -8, kLeast / 2, 4, 0))) << "its last pass";
  EXPECT_FALSE(fits(called_copy(4, 0, kMost / 2, 4, 0))) << "the way to its last pass";
  TestProgram with_good_ones;
  with_good_ones.copy(4, 0);
  with_good_ones.copy(4, static_cast<long>(kMost - 3));
  with_good_ones.copy(4, 8);
  with_good_ones.iterate(-3 * kCopy);
  with_good_ones.source = {{}, 1, LayoutDensity::sparse, 12, 0, kLeast, kMost, 0};
  EXPECT_FALSE(fits(with_good_ones));
}

TEST(ProgramBounds, AProgramHasUpTo63BitsOfBytes) {
  if (!kLongHas64Bits) return;
  const auto fault = [](const TestProgram& program) { return compiled(program)->fault; };
  EXPECT_EQ(fault(one_copy(kMost, 0, 0)), ProgramFault::none);
  EXPECT_EQ(compiled(one_copy(kMost, 0, 0))->bytes, static_cast<std::uint64_t>(kMost));
  EXPECT_EQ(fault(called_copy(7, 0, 0, kMost / 7, 0)), ProgramFault::none) << "2^63 - 1 is a multiple of 7";
  EXPECT_EQ(fault(called_copy(7, 0, 0, kMost / 7 + 1, 0)), ProgramFault::other);
  EXPECT_EQ(fault(called_copy(8, 0, 0, kMost / 2 + 1, 0)), ProgramFault::other) << "the product is 0 in 64 bits";
  for (const std::int64_t more : {std::int64_t{0}, std::int64_t{1}, kMost}) {
    TestProgram program;
    program.mcopy({{0, kMost}, {0, more}, {0, more}, {0, more}});
    program.iterate(-static_cast<int>(program.code.size()));
    EXPECT_EQ(fault(program), more == 0 ? ProgramFault::none : ProgramFault::other) << more;
  }
}

// It is the second one that has too many, not the last that was looked at.
TEST(ProgramBounds, TheInstructionThatHasTooManyBytesIsNamed) {
  if (!kLongHas64Bits) return;
  TestProgram program;
  program.copy(4, 0);
  program.copy(static_cast<long>(kMost), 0);
  program.copy(4, 0);
  program.iterate(-3 * kCopy);
  EXPECT_EQ(compiled(program)->fault, ProgramFault::other);
  EXPECT_EQ(compiled(program)->fault_at, kCopy);
}

TEST(ProgramBounds, AMessageHasAsManyBytesAsWholeApplicationsIn63Bits) {
  const auto most = static_cast<std::uint64_t>(kMost);
  for (const std::int64_t bytes : {1, 4, 5}) {
    for (const std::int64_t extent : {bytes, bytes + 3}) {
      const auto program = compiled(one_copy(bytes, 0, extent));
      const std::uint64_t all = most - most % static_cast<std::uint64_t>(bytes);
      for (const std::uint64_t total : {std::uint64_t{0}, std::uint64_t{1}, all}) {
        EXPECT_EQ(program->scatter_fault(total, false), ProgramFault::none) << bytes << ": " << total;
        EXPECT_EQ(program->gather_fault(total), ProgramFault::none) << bytes << ": " << total;
      }
      EXPECT_EQ(program->scatter_fault(all + 1, false), ProgramFault::other) << bytes;
      EXPECT_EQ(program->gather_fault(UINT64_MAX), ProgramFault::other) << bytes;
    }
  }
}

TEST(ProgramBounds, ContiguousBytesAreThoseThatNeedNoProgram) {
  EXPECT_EQ(compiled(one_copy(5, 3, 8))->contiguous_bytes(), 5U);
  EXPECT_EQ(compiled(one_copy(5, 3, 5))->contiguous_bytes(), static_cast<std::uint64_t>(kMost / 5) * 5);
  TestProgram once = one_copy(5, 3, 5);
  once.code.back() = 0;  // its ITERATE does not repeat it
  EXPECT_EQ(compiled(once)->contiguous_bytes(), 5U);
  TestProgram broken = one_copy(5, 3, 5);
  broken.code[0] = 99;
  EXPECT_EQ(compiled(broken)->contiguous_bytes(), 0U);
  TestProgram two;
  two.mcopy({{0, 4}, {8, 4}});
  two.iterate(-static_cast<int>(two.code.size()));
  EXPECT_EQ(compiled(two)->contiguous_bytes(), 0U);
  TestProgram controlled;
  controlled.control(1, 2);
  controlled.iterate(-static_cast<int>(controlled.code.size()));
  EXPECT_EQ(compiled(controlled)->contiguous_bytes(), 0U);
  controlled.code.resize(code::kControlInts);
  controlled.copy(4, 0);
  controlled.iterate(-static_cast<int>(controlled.code.size()));
  EXPECT_EQ(compiled(controlled)->contiguous_bytes(), 0U);
  TestProgram never;  // calls the routine with the CONTROL no time at all
  const int start = kCopy + kGosub + kIterate;
  never.copy(4, 0);
  never.gosub(0, 0, 0, start - kCopy, kGosub);
  never.iterate(-kCopy - kGosub);
  never.control(1, 2);
  never.iterate(start - static_cast<int>(never.code.size()));
  never.source.depth = 2;
  ASSERT_TRUE(compiled(never)->has_control);
  EXPECT_EQ(compiled(never)->contiguous_bytes(), 0U);
}

TEST(ProgramBounds, DensityIsThatOfTheWholeProgram) {
  TestProgram called = called_copy(1, 0, 0, 8, 0);
  called.source.density = LayoutDensity::contiguous;
  EXPECT_EQ(compiled(called)->disagreement, ProgramFault::none) << "one block, of another routine";
  called = called_copy(2, 0, 16, 4, 0);
  called.source.density = LayoutDensity::contiguous;
  EXPECT_EQ(compiled(called)->disagreement, ProgramFault::other) << "one operation, two blocks";
  for (const LayoutDensity density : {LayoutDensity::contiguous, LayoutDensity::unit}) {
    TestProgram empty = one_copy(0, 0, 0);
    empty.source.density = density;
    EXPECT_EQ(compiled(empty)->disagreement, ProgramFault::none) << "nothing has no gaps";
  }
}

// main calls A, and B, which calls A: the second call of A is as deep as the first.
TEST(ProgramBounds, ARoutineThatIsCalledAgainIsAsDeepAsBefore) {
  TestProgram program;
  const int b = 2 * kGosub + kIterate, a = b + kGosub + kIterate;
  program.gosub(1, 0, 0, a, kGosub);
  program.gosub(1, 100, 0, b - kGosub, kGosub);
  program.iterate(-2 * kGosub);
  program.gosub(1, 50, 0, a - b, kGosub);
  program.iterate(-kGosub);
  program.mcopy({{0, 4}, {9, 2}});
  program.iterate(a - static_cast<int>(program.code.size()));
  program.source.extent = 300;
  program.total_bytes = 30;
  for (const int depth : {0, 1, 2, 3, 4}) {
    program.source.depth = depth;
    EXPECT_EQ(compiled(program)->fault, depth < 3 ? ProgramFault::stack : ProgramFault::none) << depth;
  }
  EXPECT_TRUE(check_against_reference(program, 1));
}

TEST(ProgramBounds, AVerifiedProgramSaysSo) {
  for (const bool verified : {false, true}) {
    TestProgram program = one_copy(4, 0, 8);
    program.source.verified = verified;
    EXPECT_EQ(compiled(program)->verified, verified);
  }
}

}  // namespace
}  // namespace openlapi
