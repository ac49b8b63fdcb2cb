// The frame of the programs whose vectors and data gather/scatter programs name memory that is not there: such memory,
// every fault once, and what has to hold afterwards.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <functional>

#include "tests/system/api_case.h"

namespace memory_fault_case {

using namespace api_case;

inline constexpr std::size_t kMemory = 1u << 20;
inline constexpr std::size_t kHalf = 128u << 10;  // of a place whose second half is not there
inline constexpr int kVectorHandler = 20, kProgramHandler = 21;

// What a task offers the others: where they write, and places that end in the middle.
struct Places {
  unsigned char* memory;
  unsigned char* unmapped;   // the first byte that nobody may touch
  unsigned char* read_only;  // the first byte that nobody may write
};
inline Places places;
inline std::vector<Places*> places_of;
inline std::vector<Places> all_places;
inline unsigned char* own = nullptr;
inline lapi_cntr_t moved{};
inline std::vector<lapi_cntr_t*> moved_of;

inline unsigned char* map_half(int protection) {
  void* const place = mmap(nullptr, 2 * kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT(place != MAP_FAILED);
  auto* const end = static_cast<unsigned char*>(place) + kHalf;
  EXPECT(mprotect(end, kHalf, protection) == 0);
  return end;
}

// Memory that was mapped, read and unmapped again. The kernel hands out high addresses first, so that nobody else's
// memory comes to lie there.
inline unsigned char* unmap() {
  auto* const wanted = reinterpret_cast<unsigned char*>(0x10000000);
  void* const place =
      mmap(wanted, kHalf, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  EXPECT(place == wanted);
  std::memset(place, 1, kHalf);
  EXPECT(munmap(place, kHalf) == 0);
  return wanted;
}
inline unsigned char* gone = nullptr;

// ---- what the error handler hears ----

inline std::atomic<int> told{0}, told_code{0}, told_source{0}, told_wrong{0};

inline void hear(lapi_handle_t*, int* code, lapi_err_t* type, int* own_task, int* source) {
  if (*type != LAPI_PROGRAM_ERROR || *own_task != task) ++told_wrong;
  told_code = *code;
  told_source = *source;
  ++told;
}

// The handler has heard of one such fault (none: code 0), and of nothing else by the next fence.
inline void has_heard(int code, int source) {
  const int wanted = code != 0 ? 1 : 0;
  AWAIT((polling ? LAPI_Probe(handle) : 0, told >= wanted), 20);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(told.load(), wanted);
  EXPECT_EQUAL(told_wrong.load(), 0);
  if (code != 0) {
    EXPECT_EQUAL(told_code.load(), code);
    EXPECT_EQUAL(told_source.load(), source);
  }
  told = told_code = told_source = 0;
}

// ---- vectors with one bad piece ----

enum class Bad { nowhere, unmapped, across, read_only, across_read_only };

inline unsigned char* address(Bad kind, const Places& of, std::size_t length) {
  switch (kind) {
    case Bad::nowhere:
      return gone;  // the same in all tasks
    case Bad::unmapped:
      return of.unmapped;
    case Bad::across:
      return of.unmapped - length / 2;
    case Bad::read_only:
      return of.read_only;
    case Bad::across_read_only:
      break;
  }
  return of.read_only - length / 2;
}

struct Shape {
  std::size_t pieces, length;
};
// One packet; some, copied before the call returns; many; pieces that attach mode reads at once.
inline constexpr Shape kShapes[] = {{4, 100}, {3, 5000}, {4000, 64}, {40, 8192}, {8, 80'000}};
inline constexpr std::size_t kGap = 13;

struct Vector {
  std::vector<void*> info;
  std::vector<ulong> len;
  lapi_vec_t vector;
  Vector(unsigned char* base, Shape shape, lapi_vectype_t type = LAPI_GEN_IOVECTOR) {
    for (std::size_t i = 0; i < shape.pieces; ++i) info.push_back(base + i * (shape.length + kGap));
    len.assign(shape.pieces, shape.length);
    vector = {type, static_cast<uint>(shape.pieces), info.data(), len.data()};
  }
  Vector(const Vector&) = delete;
};

// Between the pieces nothing was written, and what was written before the fault is `seed`'s or zero.
inline void nothing_beside(const unsigned char* memory, Shape shape) {
  const std::size_t step = shape.length + kGap;
  for (std::size_t at = 0; at < kMemory; ++at) {
    if (at / step < shape.pieces && at % step < shape.length) continue;
    EXPECT(memory[at] == 0xee);
  }
}

struct Fault {
  Shape shape;
  std::size_t piece;
  Bad kind;
  unsigned target;
  int from;  // who sends here
  bool to_self;
};

// Calls `check` with every shape, every place of the bad piece, to another task and to oneself.
inline void for_each_fault(bool written, const std::function<void(const Fault&)>& check) {
  std::vector<Bad> kinds = {Bad::nowhere, Bad::unmapped, Bad::across};
  if (written) kinds = {Bad::unmapped, Bad::across, Bad::read_only, Bad::across_read_only};
  for (const bool to_self : {false, true}) {
    for (const Shape shape : kShapes) {
      for (const std::size_t piece : {std::size_t{0}, shape.pieces / 2, shape.pieces - 1}) {
        for (const Bad kind : kinds) {
          if (piece != shape.pieces / 2 && kind != kinds[1]) continue;  // every kind in the middle
          std::memset(places.memory, 0xee, kMemory);
          std::memset(own, 0xee, kMemory);
          CALL(LAPI_Gfence(handle));
          check(
              {shape, piece, kind, to_self ? static_cast<unsigned>(task) : right(), to_self ? task : left(), to_self});
          CALL(LAPI_Gfence(handle));
        }
      }
    }
  }
}

// The next message is as good as ever.
inline void others_arrive(const Fault& fault) {
  const Shape shape = fault.shape;
  std::memset(places.memory, 0xee, kMemory);
  fill(own, kMemory, static_cast<unsigned long>(task));
  CALL(LAPI_Gfence(handle));
  Vector origin(own, shape), there(all_places[fault.target].memory, shape);
  lapi_cntr_t done{};
  CALL(LAPI_Putv(handle, fault.target, &there.vector, &origin.vector, moved_of[fault.target], nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &moved, 1, nullptr));
  std::vector<unsigned char> expected(kMemory);
  fill(expected.data(), kMemory, static_cast<unsigned long>(fault.from));
  for (std::size_t i = 0; i < shape.pieces; ++i) {
    const std::size_t at = i * (shape.length + kGap);
    EXPECT(std::memcmp(places.memory + at, expected.data() + at, shape.length) == 0);
  }
  nothing_beside(places.memory, shape);
}

// A fault at the origin: the call refuses the message, or the rest of the message is zeros and the handler hears.
// Only a message that is one packet, or does not begin well, must be refused.
inline void origin_fault(const Fault& fault, int code, int wanted, lapi_cntr_t& free, lapi_cntr_t& done) {
  const bool must_refuse = fault.shape.pieces * fault.shape.length < 1000 || fault.to_self;
  EXPECT(code == wanted || (code == LAPI_SUCCESS && !must_refuse));
  static int refused;
  refused = code != LAPI_SUCCESS ? 1 : 0;
  if (refused == 0) {
    CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
    CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  }
  has_heard(refused != 0 ? 0 : wanted, static_cast<int>(fault.target));
  EXPECT(counter_value(free) == 0 && counter_value(done) == 0);
  // The target counter has moved as often as messages were sent.
  int there = 0;
  const std::vector<int*> all = exchange(&refused);
  lapi_cntr_t got{};
  CALL(LAPI_Get(handle, static_cast<uint>(fault.from), sizeof there, all[static_cast<std::size_t>(fault.from)], &there,
                nullptr, &got));
  CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
  if (there == 0) CALL(LAPI_Waitcntr(handle, &moved, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(counter_value(moved), 0);
  nothing_beside(places.memory, fault.shape);
  others_arrive(fault);
}

// A fault at the target: the message counts like any other, and the target's handler hears.
inline void target_fault(const Fault& fault, int wanted, lapi_cntr_t& free, lapi_cntr_t& done) {
  CALL(LAPI_Waitcntr(handle, &free, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &moved, 1, nullptr));
  has_heard(wanted, fault.from);
  EXPECT(counter_value(free) == 0 && counter_value(done) == 0 && counter_value(moved) == 0);
  nothing_beside(places.memory, fault.shape);
  others_arrive(fault);
}

inline std::atomic<int> completions{0};

inline void completed(lapi_handle_t*, void*) { ++completions; }

inline void begin_with_places(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.err_hndlr = hear;
  begin(count, arguments, info);
  own = new unsigned char[kMemory];
  places = {new unsigned char[kMemory], map_half(PROT_NONE), map_half(PROT_READ)};
  gone = unmap();
  places_of = exchange(&places);
  moved_of = exchange(&moved);
  for (int other = 0; other < tasks; ++other) {
    lapi_cntr_t got{};
    all_places.emplace_back();
    CALL(LAPI_Get(handle, static_cast<uint>(other), sizeof(Places), places_of[static_cast<std::size_t>(other)],
                  &all_places.back(), nullptr, &got));
    CALL(LAPI_Waitcntr(handle, &got, 1, nullptr));
  }
}

}  // namespace memory_fault_case
