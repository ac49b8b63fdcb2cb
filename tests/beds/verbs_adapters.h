// Tests of transports over the shim that says what real adapters say (adapter_shim.h).
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/beds/adapter_shim.h"
#include "tests/beds/verbs_bed.h"

namespace openlapi::test {

class VerbsAdapters : public testing::Test {
 protected:
  VerbsAdapters() { forget_requests(); }
  ~VerbsAdapters() override {
    adapter_shim = {};
    bed_changes = nullptr;
    bed_has_bulk = false;
    bed_connects_after = 0;
  }

  // Datagrams, and packets through connections, get through in both directions.
  void expect_exchange(VerbsPair& pair) {
    for (std::uint64_t number = 1; number != 40; ++number) {
      ASSERT_TRUE(gets_through(*pair.left, 1, *pair.right, number));
      ASSERT_TRUE(gets_through(*pair.right, 0, *pair.left, 100 + number));
    }
  }
};

// Reads `length` bytes from the right task to the left one. Returns how many reads the adapter was given at first.
inline std::size_t read_bulk(VerbsPair& pair, std::size_t length) {
  EXPECT_NE(pair.left->bulk(), nullptr);
  std::vector<std::byte> source(length, std::byte{7}), sink(source.size());
  BulkMemory& owner = *pair.right->capabilities().bulk_memory;
  BulkMemory& reader = *pair.left->capabilities().bulk_memory;
  MemoryKey key;
  EXPECT_TRUE(owner.expose(source.data(), source.size(), key));
  EXPECT_EQ(reader.begin_read(0 + 1, reinterpret_cast<std::uintptr_t>(source.data()), key, sink.data(), sink.size(), 5,
                              {reinterpret_cast<std::uintptr_t>(sink.data()), sink.size()}),
            BulkMemory::Begin::begun);
  BulkMemory::Ending ending{};
  std::size_t at_once = 0;
  EXPECT_TRUE(wait_for([&] {
    empty(*pair.right);
    empty(*pair.left);
    if (at_once == 0) at_once = requests_of_adapter().reads.size();
    return reader.take_endings({&ending, 1}) == 1;
  }));
  EXPECT_TRUE(ending.done);
  EXPECT_TRUE(sink == source);
  owner.withdraw(key);
  return at_once;
}

}  // namespace openlapi::test
