#include "control/daemon/messages/message_stream.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace openlapi::daemon {
namespace {

TEST(MessageStream, ALengthIsBeforeEachMessage) {
  MessageStream stream;
  stream.send({7, 8});
  stream.send({});
  EXPECT_EQ(stream.outgoing(), (MessageBytes{2, 0, 0, 0, 7, 8, 0, 0, 0, 0}));
}

TEST(MessageStream, MessagesComeWholeWhateverThePieces) {
  MessageStream sender;
  sender.send({1, 2, 3});
  sender.send({});
  sender.send({4});
  for (std::size_t step = 1; step <= sender.outgoing().size(); ++step) {
    MessageStream stream;
    const MessageBytes& bytes = sender.outgoing();
    for (std::size_t at = 0; at < bytes.size(); at += step) {
      EXPECT_TRUE(stream.take(std::span(bytes).subspan(at, std::min(step, bytes.size() - at))));
    }
    EXPECT_EQ(stream.next(), (MessageBytes{1, 2, 3}));
    EXPECT_EQ(stream.next(), MessageBytes{});
    EXPECT_EQ(stream.next(), MessageBytes{4});
    EXPECT_EQ(stream.next(), std::nullopt);
  }
}

TEST(MessageStream, ATooLongMessageEndsIt) {
  MessageStream stream;
  const std::uint32_t length = kLongestMessage + 1;
  const MessageBytes bytes{static_cast<std::uint8_t>(length), static_cast<std::uint8_t>(length >> 8),
                           static_cast<std::uint8_t>(length >> 16), static_cast<std::uint8_t>(length >> 24)};
  EXPECT_FALSE(stream.take(bytes));
  EXPECT_FALSE(stream.take(MessageBytes{0, 0, 0, 0}));
  EXPECT_EQ(stream.next(), std::nullopt);
}

}  // namespace
}  // namespace openlapi::daemon
