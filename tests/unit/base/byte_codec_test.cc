
#include <gtest/gtest.h>

#include "dataplane/base/byte_codec.h"

namespace openlapi {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(ByteCodec, TheLowestByteComesFirstAndTextsFollowTheirLength) {
  Bytes bytes;
  append_number(bytes, 0x01020304u);
  append_number(bytes, -2);
  append_wide(bytes, 0x0102030405060708u);
  append_text(bytes, "ab");
  EXPECT_EQ(bytes, (Bytes{4, 3, 2, 1, 254, 255, 255, 255, 8, 7, 6, 5, 4, 3, 2, 1, 2, 0, 0, 0, 'a', 'b'}));
  ByteReader reader(bytes);
  EXPECT_EQ(reader.number(), 0x01020304u);
  EXPECT_EQ(reader.integer(), -2);
  EXPECT_EQ(reader.wide(), 0x0102030405060708u);
  EXPECT_EQ(reader.text(), "ab");
  EXPECT_EQ(reader.left(), 0u);
  EXPECT_FALSE(reader.failed());
}

TEST(ByteCodec, NothingComesAfterTooFewBytes) {
  const Bytes bytes{1, 2, 3};
  ByteReader reader(bytes);
  EXPECT_EQ(reader.number(), 0u);
  EXPECT_TRUE(reader.failed());
  EXPECT_EQ(reader.byte(), 0u) << "although there is one";
  EXPECT_EQ(reader.text(), "");
}

TEST(ByteCodec, ACountThatTheBytesCannotHoldIsRefused) {
  Bytes bytes;
  append_number(bytes, 2u);
  bytes.resize(bytes.size() + 8);
  EXPECT_EQ(ByteReader(bytes).count(4), 2u);
  ByteReader reader(bytes);
  EXPECT_EQ(reader.count(5), 0u);
  EXPECT_TRUE(reader.failed());
}

}  // namespace
}  // namespace openlapi
