// The instructions of data gather/scatter programs as users write them: integers, in the order of the structures in
// lapi.h (which checks that they agree). Decoding reads nothing outside the code, and every failure is a ProgramFault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace openlapi {

// Why a program cannot be run; each fault has its return code in lapi.h.
enum class ProgramFault : std::uint8_t {
  none,
  opcode,
  branch,       // leaves the code, or never ends
  stack,        // calls nest deeper than the declared depth, or recursively
  copy_size,    // a negative number of bytes or blocks
  repetitions,  // a negative number of them
  control,      // a CONTROL where none is allowed, or with a negative operation
  other,
};

enum class Opcode : int { copy = 1, mcopy = 2, gosub = 3, iterate = 4, control = 5 };

inline constexpr int kLeaveControl = -1;  // operation of CONTROL

namespace code {
inline constexpr std::size_t kIntsOfLong = sizeof(long) / sizeof(int);
inline constexpr std::size_t kCopyInts = 1 + 2 * kIntsOfLong;
inline constexpr std::size_t kBlockInts = 2 * kIntsOfLong;
inline constexpr std::size_t kMcopyHeadInts = 2;
inline constexpr std::size_t kGosubInts = 4 + 2 * kIntsOfLong;
inline constexpr std::size_t kIterateInts = 2;
inline constexpr std::size_t kControlInts = 3;
}  // namespace code

struct CodeBlock {
  std::int64_t offset;
  std::int64_t bytes;
};

// One instruction; the opcode decides which fields are used.
struct Instruction {
  Opcode opcode;
  std::size_t ints;             // its length in ints
  CodeBlock block;              // copy
  const int* blocks;            // mcopy
  std::int64_t count;           // mcopy: blocks; gosub: repetitions
  std::int64_t offset, stride;  // gosub
  std::int64_t to, back;        // gosub, iterate (to): ints from this instruction
  int operation, operand;       // control

  CodeBlock mcopy_block(std::int64_t index) const;
};

namespace code {

inline std::int64_t long_at(const int* ints) {
  long value;
  std::memcpy(&value, ints, sizeof(value));
  return value;
}

inline ProgramFault decode_mcopy(std::span<const int> rest, Instruction& instruction) {
  const int count = rest[1];
  if (count < 0) return ProgramFault::copy_size;
  const std::size_t blocks = static_cast<std::size_t>(count);
  if (blocks > (rest.size() - kMcopyHeadInts) / kBlockInts) return ProgramFault::branch;
  instruction.ints = kMcopyHeadInts + blocks * kBlockInts;
  instruction.count = count;
  instruction.blocks = rest.data() + kMcopyHeadInts;
  for (int i = 0; i < count; ++i) {
    if (instruction.mcopy_block(i).bytes < 0) return ProgramFault::copy_size;
  }
  return ProgramFault::none;
}

inline std::size_t least_ints(Opcode opcode) {
  switch (opcode) {
    case Opcode::copy:
      return kCopyInts;
    case Opcode::mcopy:
      return kMcopyHeadInts;
    case Opcode::gosub:
      return kGosubInts;
    case Opcode::iterate:
      return kIterateInts;
    case Opcode::control:
      return kControlInts;
  }
  return 0;
}

}  // namespace code

inline CodeBlock Instruction::mcopy_block(std::int64_t index) const {
  const int* const at = blocks + static_cast<std::size_t>(index) * code::kBlockInts;
  return {code::long_at(at), code::long_at(at + code::kIntsOfLong)};
}

// Decodes the instruction at `at`, which may be any number.
inline ProgramFault decode_instruction(std::span<const int> all, std::int64_t at, Instruction& instruction) {
  if (at < 0 || static_cast<std::uint64_t>(at) >= all.size()) return ProgramFault::branch;
  const std::span<const int> rest = all.subspan(static_cast<std::size_t>(at));
  instruction = {};
  instruction.opcode = static_cast<Opcode>(rest[0]);
  instruction.ints = code::least_ints(instruction.opcode);
  if (instruction.ints == 0) return ProgramFault::opcode;
  if (instruction.ints > rest.size()) return ProgramFault::branch;
  const int* const field = rest.data() + 1;
  switch (instruction.opcode) {
    case Opcode::copy:
      instruction.block = {code::long_at(field + code::kIntsOfLong), code::long_at(field)};
      return instruction.block.bytes < 0 ? ProgramFault::copy_size : ProgramFault::none;
    case Opcode::mcopy:
      return code::decode_mcopy(rest, instruction);
    case Opcode::gosub:
      instruction.count = field[0];
      instruction.offset = code::long_at(field + 1);
      instruction.stride = code::long_at(field + 1 + code::kIntsOfLong);
      instruction.to = field[1 + 2 * code::kIntsOfLong];
      instruction.back = field[2 + 2 * code::kIntsOfLong];
      return instruction.count < 0 ? ProgramFault::repetitions : ProgramFault::none;
    case Opcode::iterate:
      instruction.to = field[0];
      return ProgramFault::none;
    case Opcode::control:
      instruction.operation = field[0];
      instruction.operand = field[1];
      return instruction.operation < kLeaveControl ? ProgramFault::control : ProgramFault::none;
  }
  return ProgramFault::opcode;
}

}  // namespace openlapi
