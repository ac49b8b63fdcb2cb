// A heap in which nothing is free any more, and none that could be made.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <new>
#include <utility>

#include "tests/system/api_case.h"

namespace api_case {

struct Chunk {
  Chunk* next;
};
inline Chunk* chunks = nullptr;

// The kernel ends a task whose stack may not grow: what the calls need of it is there before.
[[gnu::noinline]] inline void grow_stack() {
  volatile unsigned char room[512 * 1024];
  for (std::size_t at = 0; at < sizeof room; at += 1024) room[at] = 1;
}

// No more address space than there is, and then all of the heap's.
inline void fill_heap() {
  grow_stack();
  constexpr std::size_t kMost = 64u << 20;  // a limit that does not hold must not take the machine's memory
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  EXPECT(pages > 0);
  const rlimit now{pages * static_cast<rlim_t>(getpagesize()), RLIM_INFINITY};
  EXPECT_EQUAL(setrlimit(RLIMIT_AS, &now), 0);
  std::size_t filled = 0;
  for (std::size_t bytes = 1u << 20; bytes >= sizeof(Chunk); bytes /= 2) {
    while (void* place = std::malloc(bytes)) {
      chunks = new (place) Chunk{chunks};
      EXPECT((filled += bytes) < kMost);
    }
  }
}

inline void empty_heap() {
  const rlimit any{RLIM_INFINITY, RLIM_INFINITY};
  EXPECT_EQUAL(setrlimit(RLIMIT_AS, &any), 0);
  while (chunks != nullptr) std::free(std::exchange(chunks, chunks->next));
}

}  // namespace api_case
