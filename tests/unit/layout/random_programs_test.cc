// Thousands of seeded random programs against the reference machine, and the samples that the simulation takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "dataplane/layout/program_cursor.h"
#include "tests/support/gather_scatter_reference.h"
#include "tests/support/sample_programs.h"
#include "tests/support/sanitizers.h"
#include "tests/support/seeded_random.h"

namespace openlapi {
namespace {

TEST(RandomPrograms, random_programs_do_what_the_reference_machine_does) {
  SeededRandom random(42);
  unsigned accepted = 0;
  constexpr int kPrograms = repetitions(20'000);
  for (int i = 0; i < kPrograms; ++i) {
    std::vector<std::uint8_t> bytes(random.between(10, 160));
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
    SCOPED_TRACE(i);
    accepted += check_against_reference(bytes) ? 1 : 0;
  }
  EXPECT_GT(accepted, kPrograms / 4U);
}

TEST(RandomPrograms, sample_programs_touch_what_they_say_and_nothing_twice) {
  for (const SampleProgram& sample : SampleProgram::all()) {
    const std::uint64_t total = 4 * sample.program()->bytes + sample.program()->bytes / 2;
    ProgramCursor cursor(sample.program(), 0, total, combine_bytes);
    std::vector<std::uint64_t> touched;
    for (LayoutPiece piece; cursor.next_pieces({&piece, 1}, total) != 0;) {
      for (std::uint64_t i = 0; i < piece.length; ++i) {
        ASSERT_EQ(sample.at(touched.size()).address, piece.address + i);
        touched.push_back(piece.address + i);
      }
    }
    ASSERT_EQ(touched.size(), total);
    std::sort(touched.begin(), touched.end());
    EXPECT_EQ(std::adjacent_find(touched.begin(), touched.end()), touched.end());
  }
}

}  // namespace
}  // namespace openlapi
