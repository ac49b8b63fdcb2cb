// How the data of an operation lies in memory on one side: in one piece, in a list of pieces, in blocks at a constant
// distance, or as a data gather/scatter program has it. What the engine is given is kept here, and beside it where
// every byte lies, for the checker, which knows nothing of the kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/layout/layout_cursor.h"
#include "tests/support/sample_programs.h"
#include "tests/support/seeded_random.h"

namespace openlapi::simulation {

// Bytes that lie and travel one behind the other. They are combined with what is there when `operation` is not
// negative.
struct DataRun {
  std::uint64_t offset;  // from the beginning of the region
  std::uint64_t length;
  int operation;
  int operand;
};

struct DataLayout {
  enum class Kind : std::uint8_t { contiguous, pieces, strided, program };

  Kind kind = Kind::contiguous;
  std::uint64_t extent = 0;     // bytes of the region, gaps included
  std::vector<DataRun> runs;    // in the order in which they travel; disjoint
  std::byte* region = nullptr;  // where it lies

  std::vector<LayoutPiece> list;  // pieces, some of them empty; addresses count from the region until it is placed
  wire::StridedLayout strided{};  // as well
  const SampleProgram* program = nullptr;
  std::uint64_t program_base = 0;  // as well

  bool contiguous() const { return kind == Kind::contiguous; }
  bool distributes() const { return program != nullptr && program->distributes(); }
  void place_at(std::byte* begin);
  std::unique_ptr<LayoutCursor> cursor() const;  // refers to the list
  // The engine must not need the list any more.
  void overwrite_list() { list.assign(list.size(), {0, 1}); }

  static DataLayout in_one_piece(std::uint64_t length);
};

struct TransferLayout {
  DataLayout from, to;
};

// The layouts of both sides, independent of each other. `length` may become a little less, so that blocks fit it.
// Programs are for active messages only.
TransferLayout choose_layouts(SeededRandom& random, bool programs, std::uint64_t& length);

}  // namespace openlapi::simulation
