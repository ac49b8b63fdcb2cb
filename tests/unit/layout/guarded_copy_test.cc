#include "dataplane/layout/guarded_copy.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"

namespace openlapi {
namespace {

constexpr std::size_t kPages = 8 * 4096;

class GuardedCopyTest : public testing::Test {
 protected:
  GuardedCopyTest() {
    catch_memory_faults();
    void* const place = mmap(nullptr, 2 * kPages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(place, MAP_FAILED);
    begin_ = static_cast<std::byte*>(place);
    end_ = begin_ + kPages;
    std::memset(begin_, 7, kPages);
    EXPECT_EQ(mprotect(end_, kPages, PROT_NONE), 0);
  }
  ~GuardedCopyTest() override { munmap(begin_, 2 * kPages); }

  std::byte* begin_;
  std::byte* end_;  // from here on nothing may be touched
};

TEST_F(GuardedCopyTest, ReadableIsWhatAllPagesAre) {
  EXPECT_TRUE(is_readable(StridedCursor(address(begin_), kPages), kPages));
  EXPECT_TRUE(is_readable(StridedCursor(address(begin_ + 5), kPages), kPages - 5));
  EXPECT_FALSE(is_readable(StridedCursor(address(begin_), kPages + 1), kPages + 1));
  EXPECT_FALSE(is_readable(StridedCursor(address(begin_), 2 * kPages), 2 * kPages));
  EXPECT_FALSE(is_readable(StridedCursor({address(end_ - 300), 10, 100, 4}), 40));
  EXPECT_TRUE(is_readable(StridedCursor({address(end_ - 310), 10, 100, 4}), 40));
  EXPECT_TRUE(is_readable(StridedCursor(address(end_), 0), 0));
  EXPECT_FALSE(is_readable(StridedCursor(address(end_), 1), 1));
  EXPECT_TRUE(is_readable(StridedCursor(address(end_ - 1), 1), 1));
  EXPECT_FALSE(is_readable(StridedCursor({address(end_ - 100), 1, 100, 2}), 2)) << "its last byte";
  EXPECT_TRUE(is_readable(StridedCursor({address(end_ - 100), 1, 100, 2}), 1)) << "and without that";
}

TEST_F(GuardedCopyTest, GathersAllOrZeros) {
  std::vector<std::byte> out(40, std::byte{1});
  StridedCursor good({address(end_ - 310), 10, 100, 4});
  EXPECT_TRUE(gather_or_zero(good, out.data(), 40));
  EXPECT_EQ(std::count(out.begin(), out.end(), std::byte{7}), 40);
  StridedCursor bad({address(end_ - 300), 10, 100, 4});
  EXPECT_FALSE(gather_or_zero(bad, out.data(), 40));
  EXPECT_EQ(std::count(out.begin(), out.end(), std::byte{0}), 40);
}

TEST_F(GuardedCopyTest, TouchingChangesNothingAndFindsWhatCannotBeWritten) {
  EXPECT_TRUE(survives([&] { touch_writable(begin_, kPages); }));
  EXPECT_EQ(std::count(begin_, end_, std::byte{7}), static_cast<std::ptrdiff_t>(kPages));
  std::fill(begin_, end_, std::byte{6});
  EXPECT_TRUE(survives([&] { touch_writable(begin_, kPages); }));
  EXPECT_EQ(std::count(begin_, end_, std::byte{6}), static_cast<std::ptrdiff_t>(kPages));
  EXPECT_FALSE(survives([&] { touch_writable(begin_ + 10, kPages); }));
  EXPECT_FALSE(survives([&] { touch_writable(end_, 1); }));
  EXPECT_TRUE(survives([&] { touch_writable(end_ + 10, 0); })) << "nothing is touched";
  EXPECT_EQ(mprotect(begin_ + 4096, 4096, PROT_READ), 0);
  EXPECT_FALSE(survives([&] { touch_writable(begin_, kPages); }));
  EXPECT_TRUE(survives([&] { touch_writable(begin_, 4096); }));
}

TEST_F(GuardedCopyTest, ZerosAreAsManyAsWereWanted) {
  ZeroCursor zeros(10'001, 8);
  EXPECT_EQ(zeros.atom_size(), 8u);
  zeros.seek(1);
  std::vector<std::byte> out(10'000, std::byte{1});
  zeros.gather(out.data(), out.size());
  EXPECT_EQ(std::count(out.begin(), out.end(), std::byte{0}), 10'000);
  EXPECT_EQ(zeros.bytes_left(), 0u);
  EXPECT_EQ(nowhere()->total_bytes(), 0u);
  EXPECT_EQ(zeros.piece_count(), 3u);
  EXPECT_EQ(ZeroCursor(5, 0).piece_count(), 1u);
}

TEST_F(GuardedCopyTest, ZerosComeInTheRoomThatIsGiven) {
  ZeroCursor zeros(10'001, 0);
  std::array<LayoutPiece, 4> pieces{};
  EXPECT_EQ(zeros.next_pieces(std::span(pieces).first(2), 10'001), 2u);
  EXPECT_EQ(zeros.position(), pieces[0].length + pieces[1].length);
  EXPECT_EQ(pieces[2].length, 0u) << "it was not given";
  EXPECT_EQ(zeros.next_pieces(pieces, 1), 1u);
  EXPECT_EQ(pieces[0].length, 1u);
  EXPECT_EQ(pieces[2].length, 0u);
  EXPECT_EQ(zeros.next_pieces(pieces, 0), 0u);
}

TEST_F(GuardedCopyTest, ZerosAreNoMoreThanAreLeft) {
  ZeroCursor zeros(10, 0);
  zeros.seek(4);
  std::array<LayoutPiece, 4> pieces{};
  ASSERT_EQ(zeros.next_pieces(pieces, 100), 1u);
  EXPECT_EQ(pieces[0].length, 6u);
  EXPECT_EQ(zeros.bytes_left(), 0u);
  EXPECT_EQ(zeros.next_pieces(pieces, 100), 0u);
}

}  // namespace
}  // namespace openlapi
