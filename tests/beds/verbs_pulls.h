// Memory that task 0 pulls from task 1 by RDMA READ, between the devices of the soft-RoCE bed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "tests/beds/verbs_bed.h"
#include "tests/support/address.h"

namespace openlapi::test {

using Begin = BulkMemory::Begin;

// Bytes that tell their place and the lap.
inline void fill(void* memory, std::size_t length, std::uint64_t lap) {
  auto* const bytes = static_cast<unsigned char*>(memory);
  for (std::size_t i = 0; i < length; ++i) bytes[i] = static_cast<unsigned char>((i * 2654435761u >> 7) + lap * 31 + 1);
}

struct Outcome {
  std::uint32_t done = 0;
  std::uint32_t failed = 0;
  std::uint32_t refused = 0;
};

// Pulls in pieces, several at a time, while `also()` is called again and again; ends when every piece has.
inline Outcome pull(VerbsTransport& reader, PeerIndex from, std::uint64_t remote, const MemoryKey& key, void* local,
                    std::size_t length, const std::function<void()>& also, std::size_t piece = 1 << 20,
                    bool around = false) {
  BulkMemory& bulk = *reader.capabilities().bulk_memory;
  Outcome outcome;
  std::size_t begun = 0, under_way = 0;
  const bool ended = wait_for(
      [&] {
        while (begun < length) {
          const std::size_t now = std::min(piece, length - begun);
          const Begin begin = bulk.begin_read(from, remote + begun, key, static_cast<char*>(local) + begun, now, begun,
                                              around ? MemoryRange{address(local), length} : MemoryRange{});
          if (begin == Begin::full) break;
          if (begin == Begin::begun) {
            ++under_way;
          } else {
            ++outcome.refused;
          }
          begun += now;
        }
        empty(reader);
        also();
        BulkMemory::Ending endings[4];
        for (std::size_t count; (count = bulk.take_endings(endings)) != 0; under_way -= count) {
          for (std::size_t i = 0; i < count; ++i) (endings[i].done ? outcome.done : outcome.failed) += 1;
        }
        return begun == length && under_way == 0;
      },
      90);
  EXPECT_TRUE(ended) << under_way << " reads have no ending";
  outcome.failed += static_cast<std::uint32_t>(under_way);
  return outcome;
}

// Task 0 pulls from task 1. True: all of it arrived.
inline bool pull_all(VerbsPair& pair, const void* remote, const MemoryKey& key, void* local, std::size_t length) {
  const Outcome outcome = pull(*pair.left, 1, address(remote), key, local, length, [&] { empty(*pair.right); });
  return outcome.failed == 0 && outcome.refused == 0;
}

// Tries again as the engine does: on a machine that is too busy soft-RoCE gives a read up now and then.
inline bool pull_exposed(VerbsPair& pair, const void* remote, void* local, std::size_t length) {
  MemoryKey key;
  if (!pair.right->capabilities().bulk_memory->expose(remote, length, key)) return false;
  bool done = false;
  for (int i = 0; i < 3 && !done; ++i) done = pull_all(pair, remote, key, local, length);
  pair.right->capabilities().bulk_memory->withdraw(key);
  return done;
}

// Until the connection has recovered.
inline bool recovers(VerbsPair& pair) {
  std::vector<char> source(5000, 'x'), sink(5000);
  return wait_for([&] { return pull_exposed(pair, source.data(), sink.data(), source.size()); }, 60) && sink == source;
}

}  // namespace openlapi::test
