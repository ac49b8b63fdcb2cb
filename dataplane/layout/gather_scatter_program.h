// The compiled form of a registered data gather/scatter program (guide, chapter 6): its routines as lists of strided
// copies, calls and control changes, each with the number of bytes before it. So a position is found by division and
// binary search instead of by running the program, and a loop over one block is a single operation.
//
// Programs are immutable and shared: the registration holds one reference, every cursor another.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/layout/gather_scatter_code.h"

namespace openlapi {

enum class LayoutDensity : std::uint8_t { sparse, contiguous, unit };

// A program as its user describes it. The code is read only during compilation.
struct ProgramSource {
  std::span<const int> code;
  int depth = 1;
  LayoutDensity density = LayoutDensity::sparse;
  std::int64_t size = 0;       // bytes of one application
  std::int64_t extent = 0;     // bytes from one application to the next
  std::int64_t leftmost = 0;   // the template: offset of its first byte
  std::int64_t rightmost = 0;  // and of the byte after its last one
  std::uint32_t atom_size = 0;
  bool verified = false;
};

struct LayoutOperation {
  enum class Kind : std::uint8_t { copy, call, control };

  Kind kind;
  std::uint32_t routine;  // call: which
  std::int32_t control;   // control: which mode begins. copy, call: the mode that this pass has chosen so far, or -1
  std::uint64_t bytes_before;   // of the same pass of the routine
  std::uint64_t offset;         // from the pass's base to the first block or pass
  std::uint64_t length;         // of a block, or of a pass of the called routine
  std::uint64_t stride, count;  // of the blocks or passes. All distances are two's complement and may be negative.

  bool is_block() const { return kind == Kind::copy && count == 1; }
};

struct LayoutRoutine {
  std::uint32_t first, end;   // operations
  std::int32_t exit_control;  // the last mode that a pass chooses, or -1
  std::uint64_t bytes;        // of a pass
  std::uint64_t pieces;       // of a pass; no more than UINT64_MAX
};

struct ControlMode {
  int operation;  // negative: data is copied
  int operand;
};

struct GatherScatterProgram {
  // Never null. A program that cannot be run has a fault.
  static std::shared_ptr<const GatherScatterProgram> compile(const ProgramSource& source);

  ProgramFault fault = ProgramFault::none;
  std::int64_t fault_at = 0;  // index in the code's ints of the instruction with the fault
  // What verification refuses in addition: a description that does not agree with the code.
  ProgramFault disagreement = ProgramFault::none;

  std::vector<LayoutOperation> operations;
  std::vector<LayoutRoutine> routines;
  std::vector<ControlMode> controls;
  LayoutOperation root{};    // the main routine, applied as often as 63 bits have bytes
  std::uint64_t bytes = 0;   // of one application
  std::uint64_t pieces = 0;  // of one application, about
  std::uint32_t frames = 1;  // that an interpreter needs
  std::uint32_t atom_size = 0;
  bool repeats = true;  // the main routine's ITERATE leads back to its beginning
  bool has_control = false;
  bool verified = false;  // its user wants mistakes reported: its copies are guarded

  // How many bytes, from the first one on, are contiguous, at root.offset; 0 if there is any CONTROL.
  std::uint64_t contiguous_bytes() const;

  // Why `total_bytes` cannot be gathered, or scattered (`distributes`: there is a function for CONTROL).
  ProgramFault gather_fault(std::uint64_t total_bytes) const;
  ProgramFault scatter_fault(std::uint64_t total_bytes, bool distributes) const;
};

}  // namespace openlapi
