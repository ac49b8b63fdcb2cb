#include "control/job/node/line_assembler.h"

#include <gtest/gtest.h>

#include <vector>

namespace openlapi {
namespace {

using Pieces = std::vector<std::string>;

class Assembled {
 public:
  explicit Assembled(std::size_t limit) : assembler_(limit) {}
  Assembled& take(std::string_view bytes) {
    assembler_.take(bytes, emit());
    return *this;
  }
  Assembled& finish() {
    assembler_.finish(emit());
    return *this;
  }
  const Pieces& pieces() const { return pieces_; }

 private:
  LineAssembler::Emit emit() {
    return [this](std::string_view text) { pieces_.emplace_back(text); };
  }
  LineAssembler assembler_;
  Pieces pieces_;
};

TEST(LineAssembler, PassesWholeLinesOnTogether) {
  EXPECT_EQ(Assembled(100).take("a\n\nbc\n").pieces(), (Pieces{"a\n\nbc\n"}));
  EXPECT_EQ(Assembled(100).take("a").take("b\nc\nd").pieces(), (Pieces{"ab\n", "c\n"}));
}

TEST(LineAssembler, HoldsABeginningBack) {
  EXPECT_EQ(Assembled(100).take("a\nb").pieces(), (Pieces{"a\n"}));
  EXPECT_EQ(Assembled(100).take("a").take("b").take("c\nd").pieces(), (Pieces{"abc\n"}));
}

TEST(LineAssembler, PassesTheRestOnAtTheEnd) {
  EXPECT_EQ(Assembled(100).take("a\nb").finish().pieces(), (Pieces{"a\n", "b"}));
  EXPECT_EQ(Assembled(100).take("a\n").finish().pieces(), (Pieces{"a\n"}));
}

TEST(LineAssembler, CutsLongLinesWithoutAnEndAtTheLimit) {
  EXPECT_EQ(Assembled(4).take("abcdefghij").take("\n").pieces(), (Pieces{"abcd", "efgh", "ij\n"}));
  EXPECT_EQ(Assembled(4).take("ab").take("cd").take("e\n").pieces(), (Pieces{"abcd", "e\n"}));
}

TEST(LineAssembler, CutsALineOfExactlyTheLimitOnce) {
  EXPECT_EQ(Assembled(4).take("abc").take("\nd\n").pieces(), (Pieces{"abc\n", "d\n"}));
}

TEST(LineAssembler, KeepsZeroBytes) {
  const std::string bytes("a\0b\n", 4);
  EXPECT_EQ(Assembled(10).take(bytes).pieces(), (Pieces{bytes}));
}

TEST(LineAssembler, LosesNothingHoweverTheBytesArrive) {
  std::string text;
  for (int line = 0; line < 50; ++line) text += std::string(static_cast<std::size_t>(line * 7 % 23), 'x') + "\n";
  for (std::size_t step = 1; step < 40; ++step) {
    Assembled assembled(8);
    for (std::size_t at = 0; at < text.size(); at += step) assembled.take(std::string_view(text).substr(at, step));
    std::string joined;
    for (const std::string& piece : assembled.finish().pieces()) {
      EXPECT_TRUE(piece.back() == '\n' || piece.size() <= 8U) << piece;
      joined += piece;
    }
    EXPECT_EQ(joined, text);
  }
}

TEST(LineMerger, PutsLinesBehindEachOther) {
  LineMerger merger(false);
  std::string out;
  merger.add(0, "a\n", out);
  merger.add(1, "b\n", out);
  EXPECT_EQ(out, "a\nb\n");
}

TEST(LineMerger, TagsEachLineOnce) {
  LineMerger merger(true);
  std::string out;
  merger.add(12, "a", out);
  merger.add(12, "b\n", out);
  merger.add(3, "c\n", out);
  merger.add(3, "d\n\ne", out);
  EXPECT_EQ(out, "[12] ab\n[3] c\n[3] d\n[3] \n[3] e");
}

TEST(LineMerger, EndsAnotherSourcesOpenLine) {
  LineMerger merger(true);
  std::string out;
  merger.add(0, "long", out);
  merger.add(1, "b\n", out);
  merger.add(0, "rest\n", out);
  EXPECT_EQ(out, "[0] long\n[1] b\n[0] rest\n");
}

TEST(LineMerger, EndsAnOpenLineBeforeANote) {
  LineMerger merger(true);
  std::string out;
  merger.add(0, "open", out);
  merger.add_note("note\n", out);
  merger.add_note("more\n", out);
  EXPECT_EQ(out, "[0] open\nnote\nmore\n");
}

TEST(LineMerger, AddsNoNewlineOfItsOwnAtTheEnd) {
  LineMerger merger(false);
  std::string out;
  merger.add(0, "no newline", out);
  EXPECT_EQ(out, "no newline");
}

}  // namespace
}  // namespace openlapi
