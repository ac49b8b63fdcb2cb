#include "dataplane/base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>

namespace openlapi {
namespace {

TEST(EditDistance, CountsLettersChangedPutInLeftOutAndSwapped) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("LAPI_USE_SHM", "LAPI_USE_SHM"), 0u);
  EXPECT_EQ(edit_distance("LAPI_USE_SHMEM", "LAPI_USE_SHM"), 2u);
  EXPECT_EQ(edit_distance("POLICI", "POLICY"), 1u);
  EXPECT_EQ(edit_distance("MP_PRCOS", "MP_PROCS"), 1u);
  EXPECT_EQ(edit_distance("ab", "ba"), 1u);
  for (const char* half_swapped : {"xa", "bx"}) EXPECT_EQ(edit_distance("ab", half_swapped), 2u) << half_swapped;
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
}

TEST(NearestWord, IsTheOneWithFewestChangesAndNoneBeyondTheMost) {
  constexpr std::array<std::string_view, 3> kKnown{"--hostfile", "--host", "--hosts"};
  EXPECT_EQ(nearest_word("--hosst", kKnown, 3), "--host");
  EXPECT_EQ(nearest_word("--hostfil", kKnown, 3), "--hostfile");
  EXPECT_EQ(nearest_word("--hosts", kKnown, 9), "--hosts") << "others are near enough";
  EXPECT_EQ(nearest_word("--verbose", kKnown, 3), "");
  EXPECT_EQ(nearest_word("--hos", kKnown, 0), "");
  EXPECT_EQ(nearest_word("--hos", kKnown, 1), "--host");
  EXPECT_EQ(nearest_word("x", {}, 9), "");
}

}  // namespace
}  // namespace openlapi
