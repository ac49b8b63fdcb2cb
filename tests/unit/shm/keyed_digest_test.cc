#include "shm/keyed_digest.h"

#include <gtest/gtest.h>

namespace openlapi::shm {
namespace {

// SipHash's published vectors for the key 00 01 .. 0f and messages 00 01 02 ..
TEST(KeyedDigest, IsSipHash) {
  const std::uint64_t words[] = {0x0706050403020100, 0x0f0e0d0c0b0a0908};
  EXPECT_EQ(keyed_digest(0x0706050403020100, 0x0f0e0d0c0b0a0908, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(keyed_digest(0x0706050403020100, 0x0f0e0d0c0b0a0908, {words, 1}), 0x93f5f5799a932462u);
  EXPECT_EQ(keyed_digest(0x0706050403020100, 0x0f0e0d0c0b0a0908, {words, 2}), 0x3f2acc7f57c29bdbu);
}

}  // namespace
}  // namespace openlapi::shm
