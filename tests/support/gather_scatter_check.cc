#include <algorithm>
#include <array>

#include "dataplane/base/check.h"
#include "dataplane/layout/program_cursor.h"
#include "tests/support/gather_scatter_reference.h"
#include "tests/support/seeded_random.h"

namespace openlapi {

namespace {

constexpr std::uint64_t kArenaBytes = 1 << 14;

void check_pieces(ProgramCursor& cursor, const ReferenceRun& reference, SeededRandom& random, bool jump) {
  std::array<LayoutPiece, 7> pieces;
  for (int round = 0; round < 15; ++round) {
    if (jump) cursor.seek(random.between(0, cursor.total_bytes()));
    std::uint64_t position = cursor.position();
    const std::uint64_t limit = random.between(0, 200);
    const std::size_t room = random.between(1, pieces.size());
    const std::size_t count = cursor.next_pieces(std::span(pieces).first(room), limit);
    OPENLAPI_CHECK(count <= room && cursor.position() <= position + limit);
    OPENLAPI_CHECK(count > 0 || limit == 0 || position == cursor.total_bytes());
    OPENLAPI_CHECK(count == room || cursor.position() == std::min(position + limit, cursor.total_bytes()));
    for (const LayoutPiece& piece : std::span(pieces).first(count)) {
      OPENLAPI_CHECK(piece.length > 0);
      for (std::uint64_t i = 0; i < piece.length; ++i, ++position) {
        OPENLAPI_CHECK(position < reference.bytes.size());
        OPENLAPI_CHECK(reference.bytes[position].address == piece.address + i);
      }
    }
    OPENLAPI_CHECK(position == cursor.position());
  }
}

void check_strided(const ProgramCursor& cursor, const ReferenceRun& reference) {
  wire::StridedLayout strided;
  if (!cursor.as_strided(strided)) return;
  OPENLAPI_CHECK(strided.block * strided.count == reference.bytes.size());
  for (std::uint64_t i = 0; i < reference.bytes.size(); ++i) {
    const std::uint64_t address = strided.base + i / strided.block * strided.stride + i % strided.block;
    OPENLAPI_CHECK(reference.bytes[i].address == address);
  }
}

// Real memory, in packets.
void check_copies(ProgramCursor& cursor, std::byte* base, const ReferenceRun& reference, bool gathers,
                  std::vector<std::byte>& arena, SeededRandom& random) {
  std::vector<std::byte> packed(reference.bytes.size());
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = static_cast<std::byte>(i * 7 + i / 256 + 1);
  std::vector<std::byte> wanted = arena;
  std::byte* const wanted_base = wanted.data() + (base - arena.data());
  const auto scatter = [&](std::uint64_t at, std::uint64_t length) {
    cursor.scatter(packed.data() + at, length);
    for (const std::uint64_t end = cursor.position(); at < end; ++at) {
      std::byte& target = *(wanted_base + static_cast<std::int64_t>(reference.bytes[at].address));
      target = combined_byte(packed[at], target, reference.bytes[at]);
    }
  };
  const std::uint64_t packet = random.between(1, 100);
  for (std::uint64_t at = 0; at < packed.size(); at += packet) scatter(at, packet);
  for (int i = 0; i < 5; ++i) {
    const std::uint64_t at = random.between(0, packed.size());
    cursor.seek(at);
    scatter(at, packet);
  }
  OPENLAPI_CHECK(arena == wanted);
  if (!gathers) return;
  cursor.seek(0);
  std::vector<std::byte> gathered(packed.size() + 1, std::byte{0xee});
  for (std::uint64_t at = 0; at < packed.size(); at += packet) cursor.gather(gathered.data() + at, packet);
  OPENLAPI_CHECK(gathered.back() == std::byte{0xee});
  for (std::size_t i = 0; i < packed.size(); ++i) {
    OPENLAPI_CHECK(gathered[i] == *(base + static_cast<std::int64_t>(reference.bytes[i].address)));
  }
}

// What verification has accepted stays inside of the templates.
void check_template(const TestProgram& program, std::uint64_t application, const ReferenceRun& reference) {
  for (std::uint64_t i = 0; i < reference.bytes.size(); ++i) {
    const auto pass = static_cast<std::int64_t>(i / application);
    const auto offset = static_cast<std::int64_t>(reference.bytes[i].address) - pass * program.source.extent;
    OPENLAPI_CHECK(offset >= program.source.leftmost && offset < program.source.rightmost);
  }
}

}  // namespace

bool check_against_reference(const TestProgram& program, std::uint64_t seed) {
  const auto compiled = GatherScatterProgram::compile(program.described());
  const bool runs = compiled->scatter_fault(program.total_bytes, true) == ProgramFault::none;
  const bool gathers = compiled->gather_fault(program.total_bytes) == ProgramFault::none;
  OPENLAPI_CHECK(runs || !gathers);
  const ReferenceRun reference = run_reference(program);
  if (!runs || reference.end == ReferenceEnd::too_long) return runs;
  OPENLAPI_CHECK(reference.end == ReferenceEnd::complete);
  const bool verified = compiled->disagreement == ProgramFault::none;
  if (verified && compiled->bytes > 0) check_template(program, compiled->bytes, reference);

  SeededRandom random(seed);
  ProgramCursor cursor(compiled, 0, program.total_bytes);
  check_pieces(cursor, reference, random, false);
  check_pieces(cursor, reference, random, true);
  check_strided(cursor, reference);
  const auto in_arena = [](const ReferenceByte& byte) {
    return byte.address + kArenaBytes / 2 < kArenaBytes;  // wraps for negative offsets
  };
  if (!std::all_of(reference.bytes.begin(), reference.bytes.end(), in_arena)) return true;
  std::vector<std::byte> arena(kArenaBytes);
  for (std::size_t i = 0; i < arena.size(); ++i) arena[i] = static_cast<std::byte>(i * 31 + seed);
  std::byte* const base = arena.data() + kArenaBytes / 2;
  ProgramCursor in_memory(compiled, reinterpret_cast<std::uintptr_t>(base), program.total_bytes, combine_bytes);
  check_copies(in_memory, base, reference, gathers, arena, random);
  return true;
}

bool check_against_reference(std::span<const std::uint8_t> bytes) {
  return check_against_reference(program_from_bytes(bytes), bytes.size() + (bytes.empty() ? 0 : bytes.back()));
}

}  // namespace openlapi
