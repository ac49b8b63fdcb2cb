#include "dataplane/base/copy_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace openlapi {
namespace {

constexpr std::size_t kLongest = 300;
constexpr std::size_t kAround = 32;  // of each side: nothing is written there
constexpr std::byte kUntouched{0xee};

TEST(CopyBytes, CopiesEveryByteAndNoOther) {
  for (std::size_t length = 0; length <= kLongest; ++length) {
    std::vector<std::byte> source(length);
    for (std::size_t at = 0; at < length; ++at) source[at] = static_cast<std::byte>(at % 199);
    std::vector<std::byte> target(length + 2 * kAround, kUntouched), expected = target;
    std::copy(source.begin(), source.end(), expected.begin() + kAround);
    copy_bytes(target.data() + kAround, source.data(), length);
    EXPECT_EQ(target, expected) << length;
  }
}

TEST(CopyBytes, LongPiecesMayOverlap) {
  for (const std::size_t shift : {std::size_t{0}, std::size_t{5}, std::size_t{10}}) {
    std::vector<std::byte> memory(kLongest + 10);
    for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<std::byte>(at % 199);
    const std::vector<std::byte> expected(memory.begin() + 5, memory.begin() + 5 + kLongest);
    copy_bytes(memory.data() + shift, memory.data() + 5, kLongest);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin() + static_cast<std::ptrdiff_t>(shift)));
  }
}

}  // namespace
}  // namespace openlapi
