#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "control/boot/include/sfh.h"

namespace {

std::vector<std::string> words_of(char** argv) { return {argv, argv + sfh_argv_count(argv)}; }

TEST(ArgumentVector, GrowsWordByWord) {
  int argc = 0;
  char** argv = nullptr;
  for (const char* word : {"lamd", "-H", "", "-n"}) {
    ASSERT_EQ(sfh_argv_add(&argc, &argv, word), 0);
    EXPECT_EQ(argc, sfh_argv_count(argv));
  }
  EXPECT_EQ(words_of(argv), (std::vector<std::string>{"lamd", "-H", "", "-n"}));
  char** copy = sfh_argv_dup(argv);
  EXPECT_EQ(words_of(copy), words_of(argv));
  EXPECT_NE(copy[0], argv[0]);
  sfh_argv_free(argv);
  sfh_argv_free(copy);
}

TEST(ArgumentVector, BreaksAtSeparatorsWithoutEmptyPieces) {
  char** argv = sfh_argv_break("::/opt/lam::/usr/lib:", ':');
  EXPECT_EQ(words_of(argv), (std::vector<std::string>{"/opt/lam", "/usr/lib"}));
  sfh_argv_free(argv);
  argv = sfh_argv_break("", ':');
  ASSERT_NE(argv, nullptr);
  EXPECT_EQ(sfh_argv_count(argv), 0);
  sfh_argv_free(argv);
}

TEST(ArgumentVector, GluesUpToALimit) {
  char** argv = sfh_argv_break("one two three", ' ');
  char* all = sfh_argv_glue(argv, ' ', 0);
  char* some = sfh_argv_glue(argv, '-', 5);
  EXPECT_STREQ(all, "one two three");
  EXPECT_STREQ(some, "one-t");
  free(all);
  free(some);
  sfh_argv_free(argv);
}

TEST(ArgumentVector, TakesNullForNothing) {
  EXPECT_EQ(sfh_argv_count(nullptr), 0);
  EXPECT_EQ(sfh_argv_dup(nullptr), nullptr);
  EXPECT_EQ(sfh_argv_break(nullptr, ' '), nullptr);
  EXPECT_EQ(sfh_argv_glue(nullptr, ' ', 0), nullptr);
  EXPECT_EQ(sfh_argv_add(nullptr, nullptr, "a"), LAMERROR);
  sfh_argv_free(nullptr);
}

}  // namespace
