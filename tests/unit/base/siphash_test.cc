#include "dataplane/base/siphash.h"

#include <gtest/gtest.h>

namespace openlapi {
namespace {

constexpr SipKey kPublishedKey{0x0706050403020100, 0x0f0e0d0c0b0a0908};

// SipHash's published vectors for the key 00 01 .. 0f and messages 00 01 02 ..
TEST(SipHash, AnswersThePublishedVectors) {
  const std::uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(siphash(kPublishedKey, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash(kPublishedKey, {words, 1}), 0x93f5f5799a932462u);
  EXPECT_EQ(siphash(kPublishedKey, {words, 2}), 0x3f2acc7f57c29bdbu);
}

}  // namespace
}  // namespace openlapi
