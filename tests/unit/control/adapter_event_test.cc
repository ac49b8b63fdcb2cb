#include "control/base/adapter_event.h"

#include <gtest/gtest.h>

#include "control/client/adapter_board.h"

namespace openlapi {
namespace {

AdapterAddress address(std::uint8_t last) { return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, last}; }
AdapterEvent down(std::uint8_t last) { return {{{address(last), false}}}; }
AdapterEvent up(std::uint8_t last) { return {{{address(last), true}}}; }

TEST(AdapterEvent, HasTheseBytes) {
  EXPECT_EQ(encode({{{address(1), true}, {address(2), false}}}),
            (std::vector<std::uint8_t>{1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0xff, 0xff, 10, 0, 0, 1,
                                       1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10,   0,  0, 2, 0}));
}

TEST(AdapterEvent, ComesBackAsItWas) {
  AdapterEvent most;
  for (std::size_t n = 0; n < AdapterEvent::kMostWords; ++n)
    most.words.push_back({address(static_cast<std::uint8_t>(n)), n % 3 == 0});
  for (const AdapterEvent& event : {down(1), up(2), most}) {
    const std::vector<std::uint8_t> bytes = encode(event);
    EXPECT_EQ(decode_adapter_event(bytes), event);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_FALSE(decode_adapter_event(std::span(bytes).first(length))) << length;
  }
}

TEST(AdapterEvent, ImpossibleOnesAreRefused) {
  const auto refused = [](auto change) {
    std::vector<std::uint8_t> bytes = encode(down(1));
    change(bytes);
    return !decode_adapter_event(bytes).has_value();
  };
  EXPECT_FALSE(refused([](auto&) {}));
  EXPECT_TRUE(refused([](auto& bytes) { bytes[0] = 2; }));
  EXPECT_TRUE(refused([](auto& bytes) { bytes[1] = 0; }));
  EXPECT_TRUE(refused([](auto& bytes) { bytes[1] = 2; }));
  EXPECT_TRUE(refused([](auto& bytes) { bytes.back() = 2; }));
  EXPECT_TRUE(refused([](auto& bytes) { bytes.push_back(0); }));
  EXPECT_TRUE(refused([](auto& bytes) {
    bytes.resize(2);
    bytes[1] = 0;
  }));
  AdapterEvent many;
  many.words.resize(AdapterEvent::kMostWords + 1);
  EXPECT_FALSE(decode_adapter_event(encode(many)).has_value());
}

TEST(AdapterBoard, TheLastWordCounts) {
  AdapterBoard board;
  EXPECT_FALSE(board.hear(up(1))) << "nobody has said that it was down";
  EXPECT_TRUE(board.hear(down(1)));
  EXPECT_FALSE(board.hear(down(1))) << "nothing has changed";
  EXPECT_EQ(board.down(), std::set{address(1)});
  EXPECT_TRUE(board.hear(up(1)));
  EXPECT_TRUE(board.down().empty());
}

TEST(AdapterBoard, OfItsOwnAdaptersNobodyTellsIt) {
  AdapterBoard board;
  EXPECT_TRUE(board.hear(down(1)));
  EXPECT_FALSE(board.set_own(address(1), true));
  EXPECT_TRUE(board.down().empty());
  EXPECT_FALSE(board.hear(down(1)));
}

TEST(AdapterBoard, IsBounded) {
  AdapterBoard board;
  AdapterAddress other{};
  for (std::size_t n = 0; n < AdapterBoard::kMostDown + 10; ++n) {
    other[0] = static_cast<std::uint8_t>(n);
    other[1] = static_cast<std::uint8_t>(n >> 8);
    EXPECT_EQ(board.hear({{{other, false}}}), n < AdapterBoard::kMostDown);
  }
  EXPECT_EQ(board.down().size(), AdapterBoard::kMostDown);
  for (std::size_t n = 0; n < AdapterEvent::kMostWords; ++n)
    EXPECT_TRUE(board.set_own(address(static_cast<std::uint8_t>(n)), false));
  EXPECT_FALSE(board.set_own(address(200), false));
  const auto news = board.take_news();
  ASSERT_TRUE(news);
  EXPECT_EQ(news->words.size(), AdapterEvent::kMostWords);
}

TEST(AdapterBoard, TellsWhatHasChangedAndOnce) {
  AdapterBoard board;
  EXPECT_FALSE(board.set_own(address(1), true)) << "as everybody takes it to be";
  EXPECT_FALSE(board.take_news());
  EXPECT_TRUE(board.set_own(address(1), false));
  EXPECT_FALSE(board.set_own(address(2), true));
  EXPECT_EQ(board.take_news(), down(1));
  EXPECT_FALSE(board.take_news());
  EXPECT_TRUE(board.set_own(address(1), true));
  EXPECT_FALSE(board.set_own(address(1), false)) << "they know that";
  EXPECT_FALSE(board.take_news());
  EXPECT_TRUE(board.set_own(address(1), true));
  EXPECT_EQ(board.take_news(), up(1));
}

}  // namespace
}  // namespace openlapi
