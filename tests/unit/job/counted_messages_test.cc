#include "control/job/messages/counted_messages.h"

#include <gtest/gtest.h>

namespace openlapi::jobs {
namespace {

using daemon::MessageBytes;
using Waiting = std::deque<MessageBytes>;

TEST(CountedMessages, KeepsWhatIsNotConfirmed) {
  CountedMessages messages;
  for (std::uint8_t number = 0; number < 5; ++number) messages.sent({number});
  messages.confirm(2);
  EXPECT_EQ(messages.unconfirmed(), (Waiting{{2}, {3}, {4}}));
  messages.confirm(1);  // an old one
  EXPECT_EQ(messages.unconfirmed(), (Waiting{{2}, {3}, {4}}));
  messages.confirm(6);  // more than there were
  EXPECT_EQ(messages.unconfirmed(), (Waiting{{2}, {3}, {4}}));
  messages.confirm(5);
  messages.sent({5});
  EXPECT_EQ(messages.unconfirmed(), Waiting{{5}});
}

TEST(CountedMessages, ConfirmsEachSixteenthOrWhenMuchHasCome) {
  CountedMessages messages;
  for (int number = 1; number <= 32; ++number) EXPECT_EQ(messages.took(1), number % 16 == 0) << number;
  EXPECT_EQ(messages.taken(), 32U);
  EXPECT_FALSE(messages.took(40 << 10));
  EXPECT_TRUE(messages.took(40 << 10));
  EXPECT_FALSE(messages.took(40 << 10));
}

}  // namespace
}  // namespace openlapi::jobs
