// Packing and unpacking under data gather/scatter programs, beside the loop that a programmer would write for the same
// layout; and one packet of a long message, from wherever it starts.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "dataplane/layout/program_cursor.h"

namespace openlapi {
namespace {

constexpr std::size_t kPacked = 256 * 1024;  // with its gaps the data stays in the second-level cache

using Code = std::vector<int>;

void append_long(Code& code, long value) {
  const std::size_t at = code.size();
  code.resize(at + sizeof(long) / sizeof(int));
  std::memcpy(&code[at], &value, sizeof(value));
}

std::shared_ptr<const GatherScatterProgram> compiled(Code& code, long extent, int depth = 1) {
  ProgramSource source;
  source.code = code;
  source.depth = depth;
  source.extent = extent;
  return GatherScatterProgram::compile(source);
}

// A block of `bytes` in every `stride`.
std::shared_ptr<const GatherScatterProgram> strided(long bytes, long stride) {
  Code code{1};
  append_long(code, bytes);
  append_long(code, 0);
  code.insert(code.end(), {4, -static_cast<int>(code::kCopyInts)});
  return compiled(code, stride);
}

// Four blocks of `bytes` at distances that no loop has, in every twelve.
constexpr long kPlaces[4] = {0, 3, 4, 9};
std::shared_ptr<const GatherScatterProgram> irregular(long bytes) {
  Code code{2, 4};
  for (const long place : kPlaces) {
    append_long(code, place * bytes);
    append_long(code, bytes);
  }
  code.insert(code.end(), {4, -static_cast<int>(code.size())});
  return compiled(code, 12 * bytes);
}

// GOSUB in GOSUB: the faces of a cube of elements, every second one in each direction.
std::shared_ptr<const GatherScatterProgram> nested(long bytes) {
  Code code{3, 8};
  append_long(code, 0);
  append_long(code, bytes * 2 * 16);
  code.insert(code.end(), {static_cast<int>(code::kGosubInts + code::kIterateInts), static_cast<int>(code::kGosubInts),
                           4, -static_cast<int>(code::kGosubInts)});
  const auto start = static_cast<int>(code.size());
  code.insert(code.end(), {3, 8});
  append_long(code, 0);
  append_long(code, bytes * 2);
  code.insert(code.end(),
              {static_cast<int>(code::kGosubInts + code::kIterateInts), static_cast<int>(code::kGosubInts)});
  code.insert(code.end(), {4, start - static_cast<int>(code.size())});
  code.push_back(1);
  append_long(code, bytes);
  append_long(code, 0);
  code.insert(code.end(), {4, -static_cast<int>(code::kCopyInts)});
  return compiled(code, bytes * 2 * 16 * 8, 3);
}

struct Memory {
  explicit Memory(std::size_t spread) : sparse(kPacked * spread + 4096), packed(kPacked + 4096) {}
  std::uint64_t base() { return reinterpret_cast<std::uintptr_t>(sparse.data()); }
  std::vector<std::byte> sparse;
  std::vector<std::byte> packed;
};

void finish(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(kPacked));
}

void run_pack(benchmark::State& state, const std::shared_ptr<const GatherScatterProgram>& program, std::size_t spread) {
  Memory memory(spread);
  for (auto _ : state) {
    ProgramCursor cursor(program, memory.base(), kPacked);
    cursor.gather(memory.packed.data(), kPacked);
    benchmark::ClobberMemory();
  }
  finish(state);
}

void run_unpack(benchmark::State& state, const std::shared_ptr<const GatherScatterProgram>& program,
                std::size_t spread) {
  Memory memory(spread);
  for (auto _ : state) {
    ProgramCursor cursor(program, memory.base(), kPacked);
    cursor.scatter(memory.packed.data(), kPacked);
    benchmark::ClobberMemory();
  }
  finish(state);
}

void pack_strided(benchmark::State& state) { run_pack(state, strided(state.range(0), 2 * state.range(0)), 2); }
void unpack_strided(benchmark::State& state) { run_unpack(state, strided(state.range(0), 2 * state.range(0)), 2); }

// The length is a variable, as in a library; for one block length known to the compiler see loop_of_64.
void loop_strided(benchmark::State& state) {
  Memory memory(2);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::byte* to = memory.packed.data();
    const std::byte* from = memory.sparse.data();
    for (std::size_t i = 0; i < kPacked / bytes; ++i, to += bytes, from += 2 * bytes) std::memcpy(to, from, bytes);
    benchmark::ClobberMemory();
  }
  finish(state);
}

void loop_of_64(benchmark::State& state) {
  Memory memory(2);
  for (auto _ : state) {
    std::byte* to = memory.packed.data();
    const std::byte* from = memory.sparse.data();
    for (std::size_t i = 0; i < kPacked / 64; ++i, to += 64, from += 128) std::memcpy(to, from, 64);
    benchmark::ClobberMemory();
  }
  finish(state);
}

void scatter_loop_of_64(benchmark::State& state) {
  Memory memory(2);
  for (auto _ : state) {
    std::byte* to = memory.sparse.data();
    const std::byte* from = memory.packed.data();
    for (std::size_t i = 0; i < kPacked / 64; ++i, to += 128, from += 64) std::memcpy(to, from, 64);
    benchmark::ClobberMemory();
  }
  finish(state);
}

void pack_irregular(benchmark::State& state) { run_pack(state, irregular(state.range(0)), 3); }
void unpack_irregular(benchmark::State& state) { run_unpack(state, irregular(state.range(0)), 3); }

void loop_irregular(benchmark::State& state) {
  Memory memory(3);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::byte* to = memory.packed.data();
    const std::byte* from = memory.sparse.data();
    for (std::size_t i = 0; i < kPacked / bytes / 4; ++i, from += 12 * bytes) {
      for (const long place : kPlaces) {
        std::memcpy(to, from + static_cast<std::size_t>(place) * bytes, bytes);
        to += bytes;
      }
    }
    benchmark::ClobberMemory();
  }
  finish(state);
}

// What unpacking is to be compared with: stores to scattered places cost more than loads from them.
void scatter_loop_irregular(benchmark::State& state) {
  Memory memory(3);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::byte* to = memory.sparse.data();
    const std::byte* from = memory.packed.data();
    for (std::size_t i = 0; i < kPacked / bytes / 4; ++i, to += 12 * bytes) {
      for (const long place : kPlaces) {
        std::memcpy(to + static_cast<std::size_t>(place) * bytes, from, bytes);
        from += bytes;
      }
    }
    benchmark::ClobberMemory();
  }
  finish(state);
}

void pack_nested(benchmark::State& state) { run_pack(state, nested(state.range(0)), 4); }

void loop_nested(benchmark::State& state) {
  Memory memory(4);
  const auto bytes = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    std::byte* to = memory.packed.data();
    for (std::size_t row = 0; row < kPacked / bytes / 8; ++row) {
      const std::byte* from = memory.sparse.data() + row * bytes * 2 * 16;
      for (std::size_t i = 0; i < 8; ++i, to += bytes, from += 2 * bytes) std::memcpy(to, from, bytes);
    }
    benchmark::ClobberMemory();
  }
  finish(state);
}

void pack_contiguous(benchmark::State& state) { run_pack(state, strided(64, 64), 1); }

void loop_contiguous(benchmark::State& state) {
  Memory memory(1);
  for (auto _ : state) {
    std::memcpy(memory.packed.data(), memory.sparse.data(), kPacked);
    benchmark::ClobberMemory();
  }
  finish(state);
}

// One packet of 2 KiB out of a terabyte: the pieces only, as attach mode asks for them. Argument: which packet.
void packet_from(benchmark::State& state) {
  constexpr std::uint64_t kPacket = 2048;
  ProgramCursor cursor(irregular(64), 0, std::uint64_t{1} << 40);
  std::vector<LayoutPiece> pieces(64);
  const std::uint64_t position = static_cast<std::uint64_t>(state.range(0)) * kPacket;
  for (auto _ : state) {
    cursor.seek(position);
    benchmark::DoNotOptimize(cursor.next_pieces(pieces, kPacket));
  }
}

BENCHMARK(loop_contiguous);
BENCHMARK(pack_contiguous);
BENCHMARK(loop_of_64);
BENCHMARK(scatter_loop_of_64);
BENCHMARK(loop_strided)->Arg(16)->Arg(64)->Arg(96)->Arg(256)->Arg(1024);
BENCHMARK(pack_strided)->Arg(16)->Arg(64)->Arg(96)->Arg(256)->Arg(1024);
BENCHMARK(unpack_strided)->Arg(16)->Arg(64)->Arg(96)->Arg(256)->Arg(1024);
BENCHMARK(loop_irregular)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK(scatter_loop_irregular)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK(pack_irregular)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK(unpack_irregular)->Arg(64)->Arg(256)->Arg(1024);
BENCHMARK(loop_nested)->Arg(64)->Arg(256);
BENCHMARK(pack_nested)->Arg(64)->Arg(256);
BENCHMARK(packet_from)->Arg(1)->Arg(1000)->Arg(1'000'000)->Arg(500'000'000);

}  // namespace
}  // namespace openlapi

BENCHMARK_MAIN();
