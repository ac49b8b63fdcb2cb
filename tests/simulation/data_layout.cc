#include "tests/simulation/data_layout.h"

#include <algorithm>
#include <utility>

#include "dataplane/layout/program_cursor.h"
#include "dataplane/layout/vector_cursor.h"
#include "tests/support/address.h"

namespace openlapi::simulation {

namespace {

using LayoutKind = DataLayout::Kind;

constexpr std::uint64_t kMostBlocks = 2000;
constexpr std::uint64_t kLongestThroughProgram = 512 * 1024;

// Slices of [0, length), in any order, with gaps between them.
DataLayout in_pieces(SeededRandom& random, std::uint64_t length) {
  const std::uint64_t longest = std::uint64_t{1} << random.between(2, 14);
  const std::uint64_t widest_gap = random.chance(0.5) ? 0 : 1 + random.below(40);
  DataLayout layout;
  layout.kind = LayoutKind::pieces;
  for (std::uint64_t left = length; left != 0;) {
    const std::uint64_t slice = std::min(left, 1 + random.below(longest));
    layout.runs.push_back({layout.extent, slice, -1, 0});
    left -= slice;
    layout.extent += slice + (left != 0 ? random.below(widest_gap + 1) : 0);
  }
  for (std::size_t i = layout.runs.size(); i > 1; --i) std::swap(layout.runs[i - 1], layout.runs[random.below(i)]);
  for (const DataRun& run : layout.runs) {
    const std::uint64_t cut = random.chance(0.3) ? random.below(run.length + 1) : run.length;
    layout.list.push_back({run.offset, cut});
    if (random.chance(0.1)) layout.list.push_back({0, 0});
    if (cut != run.length) layout.list.push_back({run.offset + cut, run.length - cut});
  }
  return layout;
}

DataLayout in_blocks(SeededRandom& random, std::uint64_t block, std::uint64_t count) {
  const std::uint64_t gap = random.chance(0.1) ? 0 : 1 + random.below(std::min<std::uint64_t>(block, 200) + 8);
  DataLayout layout;
  layout.kind = LayoutKind::strided;
  layout.strided = {0, block, block + gap, count};
  for (std::uint64_t i = 0; i < count; ++i) layout.runs.push_back({i * (block + gap), block, -1, 0});
  layout.extent = (count - 1) * (block + gap) + block;
  return layout;
}

DataLayout through_program(const SampleProgram& program, std::uint64_t length) {
  DataLayout layout;
  layout.kind = LayoutKind::program;
  layout.program = &program;
  std::int64_t lowest = INT64_MAX, highest = INT64_MIN;
  for (std::uint64_t position = 0; position < length; ++position) {
    const ReferenceByte byte = program.at(position);
    const auto offset = static_cast<std::int64_t>(byte.address);
    lowest = std::min(lowest, offset);
    highest = std::max(highest, offset + 1);
    const bool extends = !layout.runs.empty() &&
                         layout.runs.back().offset + layout.runs.back().length == byte.address &&
                         layout.runs.back().operation == byte.operation && layout.runs.back().operand == byte.operand;
    if (extends) {
      ++layout.runs.back().length;
    } else {
      layout.runs.push_back({byte.address, 1, byte.operation, byte.operand});
    }
  }
  layout.program_base = 0 - static_cast<std::uint64_t>(lowest);
  layout.extent = static_cast<std::uint64_t>(highest - lowest);
  for (DataRun& run : layout.runs) run.offset += layout.program_base;
  return layout;
}

const SampleProgram& choose_program(SeededRandom& random, bool gathers) {
  while (true) {
    const SampleProgram& program = SampleProgram::all()[random.below(SampleProgram::all().size())];
    if (!gathers || !program.distributes()) return program;
  }
}

// `unit` divides the length.
DataLayout choose_layout(SeededRandom& random, LayoutKind kind, bool gathers, std::uint64_t length,
                         std::uint64_t unit) {
  switch (kind) {
    case LayoutKind::contiguous:
      break;
    case LayoutKind::pieces:
      return in_pieces(random, length);
    case LayoutKind::strided: {
      const std::uint64_t units = length / unit;
      std::uint64_t together = 1 + random.below(12);
      if (units % together != 0) together = 1;
      return in_blocks(random, unit * together, units / together);
    }
    case LayoutKind::program:
      return through_program(choose_program(random, gathers), length);
  }
  return DataLayout::in_one_piece(length);
}

}  // namespace

DataLayout DataLayout::in_one_piece(std::uint64_t length) {
  DataLayout layout;
  layout.extent = length;
  if (length != 0) layout.runs.push_back({0, length, -1, 0});
  return layout;
}

void DataLayout::place_at(std::byte* begin) {
  region = begin;
  for (LayoutPiece& piece : list) {
    if (piece.length != 0) piece.address += address(begin);
  }
  strided.base += address(begin);
  program_base += address(begin);
}

std::unique_ptr<LayoutCursor> DataLayout::cursor() const {
  switch (kind) {
    case LayoutKind::contiguous:
      break;
    case LayoutKind::pieces:
      return std::make_unique<ListCursor>(PieceList::of_pieces(list.data(), list.size()));
    case LayoutKind::strided:
      return std::make_unique<StridedCursor>(strided);
    case LayoutKind::program: {
      std::uint64_t length = 0;
      for (const DataRun& run : runs) length += run.length;
      return std::make_unique<ProgramCursor>(program->program(), program_base, length, combine_bytes);
    }
  }
  return std::make_unique<StridedCursor>(address(region), extent);
}

TransferLayout choose_layouts(SeededRandom& random, bool programs, std::uint64_t& length) {
  const LayoutKind kinds[] = {LayoutKind::contiguous, LayoutKind::pieces, LayoutKind::strided, LayoutKind::program,
                              LayoutKind::program};
  const std::size_t choices = programs && length <= kLongestThroughProgram ? 5 : 3;
  const LayoutKind from = random.pick(std::span(kinds).first(choices));
  const LayoutKind to = random.pick(std::span(kinds).first(choices));
  std::uint64_t unit = 1;
  if (from == LayoutKind::strided || to == LayoutKind::strided) {
    unit = std::min(length, length / kMostBlocks + 1 + random.below(std::uint64_t{1} << random.between(2, 13)));
    length -= length % unit;
  }
  return {choose_layout(random, from, true, length, unit), choose_layout(random, to, false, length, unit)};
}

}  // namespace openlapi::simulation
