#include "tests/support/gather_scatter_reference.h"

#include <algorithm>
#include <cstring>

namespace openlapi {

namespace {

constexpr std::size_t kMostSteps = 8'000;
constexpr std::uint64_t kMostBytes = 1'500;

void append_long(std::vector<int>& code, long value) {
  int ints[sizeof(long) / sizeof(int)];
  std::memcpy(ints, &value, sizeof(value));
  code.insert(code.end(), std::begin(ints), std::end(ints));
}

// Reads as if there were zeros behind the end.
class ByteInput {
 public:
  explicit ByteInput(std::span<const std::uint8_t> bytes) : rest_(bytes) {}
  bool empty() const { return rest_.empty(); }
  unsigned byte() {
    if (rest_.empty()) return 0;
    const unsigned value = rest_.front();
    rest_ = rest_.subspan(1);
    return value;
  }
  unsigned below(unsigned bound) { return byte() % bound; }
  int word() {
    const unsigned low = byte() | byte() << 8, high = byte() | byte() << 8;
    return static_cast<int>(low | high << 16);
  }
  long offset() { return static_cast<long>(byte()) - 40; }

 private:
  std::span<const std::uint8_t> rest_;
};

// One instruction of the routine that begins at `start`; calls go to the starts of `callees`.
void append_instruction(ByteInput& input, TestProgram& program, const std::vector<int>& callees) {
  const int at = static_cast<int>(program.code.size());
  switch (input.below(8)) {
    case 0:
    case 1:
    case 2:
      program.copy(input.below(40), input.offset());
      break;
    case 3: {
      std::vector<CodeBlock> blocks(input.below(5));
      for (CodeBlock& block : blocks) block = {input.offset(), input.below(20)};
      program.mcopy(blocks);
      break;
    }
    case 4:
      if (input.below(4) == 0) program.control(static_cast<int>(input.below(4)) - 1, static_cast<int>(input.below(9)));
      break;
    default:
      if (callees.empty()) return;
      program.gosub(static_cast<int>(input.below(5)), input.offset(), input.offset(),
                    callees[input.below(static_cast<unsigned>(callees.size()))] - at,
                    static_cast<int>(code::kGosubInts));
      break;
  }
}

// The main routine, which must come first, in a part of its own; behind it the routines that it may call.
void append_routines(ByteInput& input, TestProgram& program) {
  constexpr std::size_t kMainInts = 128;
  program.code.assign(kMainInts, 0);
  std::vector<int> starts;
  for (unsigned routines = input.below(5); routines > 0; --routines) {
    const int start = static_cast<int>(program.code.size());
    for (unsigned left = input.below(6); left > 0; --left) append_instruction(input, program, starts);
    program.iterate(start - static_cast<int>(program.code.size()));
    starts.push_back(start);
  }
  TestProgram main;
  for (unsigned left = input.below(6); left > 0; --left) append_instruction(input, main, starts);
  main.iterate(-static_cast<int>(main.code.size()));
  std::copy(main.code.begin(), main.code.end(), program.code.begin());
}

}  // namespace

void TestProgram::copy(long bytes, long offset) {
  code.push_back(static_cast<int>(Opcode::copy));
  append_long(code, bytes);
  append_long(code, offset);
}

void TestProgram::mcopy(const std::vector<CodeBlock>& blocks) {
  code.push_back(static_cast<int>(Opcode::mcopy));
  code.push_back(static_cast<int>(blocks.size()));
  for (const CodeBlock& block : blocks) {
    append_long(code, static_cast<long>(block.offset));
    append_long(code, static_cast<long>(block.bytes));
  }
}

void TestProgram::gosub(int reps, long offset, long stride, int to, int back) {
  code.insert(code.end(), {static_cast<int>(Opcode::gosub), reps});
  append_long(code, offset);
  append_long(code, stride);
  code.insert(code.end(), {to, back});
}

void TestProgram::iterate(int to) { code.insert(code.end(), {static_cast<int>(Opcode::iterate), to}); }

void TestProgram::control(int operation, int operand) {
  code.insert(code.end(), {static_cast<int>(Opcode::control), operation, operand});
}

TestProgram program_from_bytes(std::span<const std::uint8_t> bytes) {
  ByteInput input(bytes);
  TestProgram program;
  const unsigned shape = input.byte();
  program.total_bytes = static_cast<std::uint64_t>(input.word()) % kMostBytes;
  program.source.depth = shape % 16 == 0 ? static_cast<int>(input.below(6)) : 8;
  program.source.density = static_cast<LayoutDensity>(shape % 32 == 1 ? input.below(3) : 0);
  program.source.extent = input.offset() * 4;
  program.source.leftmost = -static_cast<long>(input.byte()) * 8;
  program.source.rightmost = static_cast<long>(input.byte()) * 8;
  program.source.size = input.word() % 512;
  if (shape < 16) {
    while (!input.empty() && program.code.size() < 500) program.code.push_back(input.word());
  } else {
    append_routines(input, program);
    if (shape % 4 == 0) program.code[static_cast<unsigned>(input.word()) % program.code.size()] = input.word();
    if (shape % 4 == 1) program.code[static_cast<unsigned>(input.word()) % program.code.size()] = input.below(9);
  }
  // Half of the descriptions tell the truth about the size.
  if (shape % 2 == 0) {
    program.source.size = static_cast<std::int64_t>(GatherScatterProgram::compile(program.described())->bytes);
  }
  return program;
}

ReferenceRun run_reference(const TestProgram& program) {
  struct Frame {
    std::uint64_t base, stride, reps;
    std::int64_t back;
  };
  ReferenceRun run{ReferenceEnd::complete, {}};
  std::vector<Frame> stack{{0, static_cast<std::uint64_t>(program.source.extent), UINT64_MAX, 0}};
  std::int64_t at = 0;
  ControlMode mode{-1, 0};
  Instruction instruction;
  const auto copy = [&](const CodeBlock& block) {
    for (std::int64_t i = 0; i < block.bytes && run.bytes.size() < program.total_bytes; ++i) {
      const std::uint64_t offset = static_cast<std::uint64_t>(block.offset) + static_cast<std::uint64_t>(i);
      run.bytes.push_back({stack.back().base + offset, mode.operation, mode.operand});
    }
  };
  for (std::size_t steps = 0; run.bytes.size() < program.total_bytes; ++steps) {
    if (steps == kMostSteps) return {ReferenceEnd::too_long, std::move(run.bytes)};
    if (decode_instruction(program.code, at, instruction) != ProgramFault::none ||
        stack.size() > static_cast<std::size_t>(std::max(program.source.depth, 0))) {
      return {ReferenceEnd::broken, std::move(run.bytes)};
    }
    std::int64_t next = at + static_cast<std::int64_t>(instruction.ints);
    switch (instruction.opcode) {
      case Opcode::copy:
        copy(instruction.block);
        break;
      case Opcode::mcopy:
        for (std::int64_t i = 0; i < instruction.count; ++i) copy(instruction.mcopy_block(i));
        break;
      case Opcode::control:
        mode = {instruction.operation, instruction.operand};
        break;
      case Opcode::gosub:
        next = at + instruction.back;
        if (instruction.count == 0) break;
        stack.push_back({stack.back().base + static_cast<std::uint64_t>(instruction.offset),
                         static_cast<std::uint64_t>(instruction.stride), static_cast<std::uint64_t>(instruction.count),
                         next});
        next = at + instruction.to;
        break;
      case Opcode::iterate:
        next = at + instruction.to;
        if (--stack.back().reps == 0) {
          next = stack.back().back;
          stack.pop_back();
        } else {
          stack.back().base += stack.back().stride;
        }
        break;
    }
    at = next;
  }
  return run;
}

long combine_bytes(void* inbound, void* target, long bytes, int operand, int operation) {
  const auto* from = static_cast<const unsigned char*>(inbound);
  auto* to = static_cast<unsigned char*>(target);
  // Now and then not everything, or nothing said.
  const long taken = bytes > 8 ? bytes / 2 : bytes;
  for (long i = 0; i < taken; ++i) {
    to[i] = static_cast<unsigned char>(to[i] * 3U + from[i] + static_cast<unsigned>(operand) * 16 +
                                       static_cast<unsigned>(operation));
  }
  return taken == bytes && bytes % 2 == 0 ? 0 : taken;
}

std::byte combined_byte(std::byte inbound, std::byte target, const ReferenceByte& byte) {
  if (byte.operation < 0) return inbound;
  return static_cast<std::byte>(std::to_integer<unsigned>(target) * 3 + std::to_integer<unsigned>(inbound) +
                                static_cast<unsigned>(byte.operand) * 16 + static_cast<unsigned>(byte.operation));
}

}  // namespace openlapi
