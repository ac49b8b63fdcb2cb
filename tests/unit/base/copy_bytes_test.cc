#include "dataplane/base/copy_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace openlapi {
namespace {

constexpr std::size_t kLength = 300;

TEST(CopyBytes, LongPiecesMayOverlap) {
  for (const std::size_t shift : {std::size_t{0}, std::size_t{5}, std::size_t{10}}) {
    std::vector<std::byte> memory(kLength + 10);
    for (std::size_t at = 0; at < memory.size(); ++at) memory[at] = static_cast<std::byte>(at % 199);
    const std::vector<std::byte> expected(memory.begin() + 5, memory.begin() + 5 + kLength);
    copy_bytes(memory.data() + shift, memory.data() + 5, kLength);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin() + static_cast<std::ptrdiff_t>(shift)));
  }
}

}  // namespace
}  // namespace openlapi
