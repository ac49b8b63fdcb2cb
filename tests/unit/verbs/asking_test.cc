#include "nic/verbs/asking.h"

#include <gtest/gtest.h>

namespace openlapi::verbs {
namespace {

TEST(Asking, OfRealAdaptersComesSoonAndThenSeldom) {
  const Asking asking = asking_of(0, false);
  EXPECT_EQ(asking.first, 32u);
  EXPECT_EQ(asking.again, 1024u);
}

TEST(Asking, OfSoftwareIsSeldomFromTheFirst) {
  const Asking asking = asking_of(0, true);
  EXPECT_EQ(asking.first, 1024u);
  EXPECT_EQ(asking.again, 1024u);
}

TEST(Asking, OfARingComesAfterThatOfItsConnection) {
  EXPECT_EQ(ring_after(kAskingOfAdapters), 256u);
  EXPECT_EQ(ring_after(kAskingOfSoftware), 8192u);
  EXPECT_EQ(ring_after(asking_of(1, true)), 8u);
}

TEST(Asking, IsAsWantedEverywhere) {
  for (const bool software : {false, true}) {
    for (const std::uint32_t wanted : {1u, 100u}) {
      const Asking asking = asking_of(wanted, software);
      EXPECT_EQ(asking.first, wanted);
      EXPECT_EQ(asking.again, wanted);
    }
  }
}

}  // namespace
}  // namespace openlapi::verbs
