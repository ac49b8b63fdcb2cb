#include "dataplane/message/kept_for_peer.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

TEST(KeptForPeer, HasRoomUpToItsTwoBounds) {
  KeptForPeer kept;
  EXPECT_TRUE(kept.has_room(tuning::kMostBytesOfPeer));
  EXPECT_FALSE(kept.has_room(tuning::kMostBytesOfPeer + 1));
  kept.bytes = tuning::kMostBytesOfPeer - 10;
  EXPECT_TRUE(kept.has_room(10));
  EXPECT_FALSE(kept.has_room(11));
  kept.bytes = tuning::kMostBytesOfPeer;
  EXPECT_TRUE(kept.has_room(0));
  EXPECT_FALSE(kept.has_room(1));
  kept.bytes = tuning::kMostBytesOfPeer + 5;  // an answer that had to be kept
  EXPECT_FALSE(kept.has_room(0));
  EXPECT_FALSE(kept.has_room(UINT64_MAX));
  kept = {tuning::kMostThingsOfPeer - 1, 0};
  EXPECT_TRUE(kept.has_room(1));
  kept.things = tuning::kMostThingsOfPeer;
  EXPECT_FALSE(kept.has_room(0));
}

TEST(KeptShare, CountsAsLongAsItExists) {
  KeptForPeer kept;
  {
    const KeptShare share(kept, 100);
    EXPECT_TRUE(share.counts());
    EXPECT_EQ(kept.things, 1u);
    EXPECT_EQ(kept.bytes, 100u);
    const KeptShare none;
    EXPECT_FALSE(none.counts());
  }
  EXPECT_EQ(kept.things, 0u);
  EXPECT_EQ(kept.bytes, 0u);
}

TEST(KeptShare, CountsOnceWhereverItIsMoved) {
  KeptForPeer kept, others;
  {
    KeptShare share(kept, 100);
    KeptShare moved(std::move(share));
    EXPECT_TRUE(moved.counts());
    EXPECT_EQ(kept.things, 1u);
    KeptShare other(others, 30);
    other = std::move(moved);
    EXPECT_TRUE(other.counts());
    EXPECT_EQ(kept.bytes, 100u);
    EXPECT_EQ(kept.things, 1u);
  }
  for (const KeptForPeer& each : {kept, others}) {
    EXPECT_EQ(each.things, 0u);
    EXPECT_EQ(each.bytes, 0u);
  }
}

}  // namespace
}  // namespace openlapi
