// Instructions as they lie in a program: which fields they have, where they may end, which numbers are none of theirs.
#include "dataplane/layout/gather_scatter_code.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <vector>

#include "tests/support/gather_scatter_reference.h"

namespace openlapi {
namespace {

ProgramFault fault_at(std::span<const int> code, std::int64_t at) {
  Instruction instruction;
  return decode_instruction(code, at, instruction);
}

Instruction decoded_at(const TestProgram& program, std::size_t at) {
  Instruction instruction;
  EXPECT_EQ(decode_instruction(program.code, static_cast<std::int64_t>(at), instruction), ProgramFault::none);
  return instruction;
}

// One after the other, so that each but the first lies behind something.
TEST(GatherScatterCode, EachInstructionIsFoundWithItsFields) {
  TestProgram program;
  program.copy(7, -9);
  std::size_t at = 0;
  const Instruction copy = decoded_at(program, at);
  EXPECT_EQ(copy.opcode, Opcode::copy);
  EXPECT_EQ(copy.block.bytes, 7);
  EXPECT_EQ(copy.block.offset, -9);
  EXPECT_EQ(copy.ints, program.code.size());

  at = program.code.size();
  program.mcopy({{1, 2}, {-3, 4}, {5, 0}});
  const Instruction mcopy = decoded_at(program, at);
  EXPECT_EQ(mcopy.opcode, Opcode::mcopy);
  ASSERT_EQ(mcopy.count, 3);
  for (const auto& [index, offset, bytes] : {std::array{0, 1, 2}, std::array{1, -3, 4}, std::array{2, 5, 0}}) {
    EXPECT_EQ(mcopy.mcopy_block(index).offset, offset);
    EXPECT_EQ(mcopy.mcopy_block(index).bytes, bytes);
  }
  EXPECT_EQ(at + mcopy.ints, program.code.size());

  at = program.code.size();
  program.gosub(5, -6, 7, 8, -10);
  const Instruction gosub = decoded_at(program, at);
  EXPECT_EQ(gosub.opcode, Opcode::gosub);
  EXPECT_EQ(gosub.count, 5);
  EXPECT_EQ(gosub.offset, -6);
  EXPECT_EQ(gosub.stride, 7);
  EXPECT_EQ(gosub.to, 8);
  EXPECT_EQ(gosub.back, -10);
  EXPECT_EQ(at + gosub.ints, program.code.size());

  at = program.code.size();
  program.control(3, -8);
  const Instruction control = decoded_at(program, at);
  EXPECT_EQ(control.opcode, Opcode::control);
  EXPECT_EQ(control.operation, 3);
  EXPECT_EQ(control.operand, -8);
  EXPECT_EQ(at + control.ints, program.code.size());

  at = program.code.size();
  program.iterate(-4);
  const Instruction iterate = decoded_at(program, at);
  EXPECT_EQ(iterate.opcode, Opcode::iterate);
  EXPECT_EQ(iterate.to, -4);
  EXPECT_EQ(at + iterate.ints, program.code.size());
}

TEST(GatherScatterCode, AnInstructionThatDoesNotFitLeavesTheCode) {
  std::vector<TestProgram> programs(6);
  programs[0].copy(7, 9);
  programs[1].mcopy({});
  programs[2].mcopy({{1, 2}, {3, 4}});
  programs[3].gosub(5, 6, 7, 8, 9);
  programs[4].iterate(0);
  programs[5].control(1, 2);
  for (const TestProgram& program : programs) {
    const std::span<const int> code(program.code);
    SCOPED_TRACE(code[0]);
    EXPECT_EQ(fault_at(code, 0), ProgramFault::none);
    for (std::size_t ints = 0; ints < code.size(); ++ints) {
      EXPECT_EQ(fault_at(code.first(ints), 0), ProgramFault::branch) << ints << " of " << code.size();
    }
    const auto size = static_cast<std::int64_t>(code.size());
    for (const std::int64_t at : {size, size + 1, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min(),
                                  std::numeric_limits<std::int64_t>::max()}) {
      EXPECT_EQ(fault_at(code, at), ProgramFault::branch) << at;
    }
  }
}

TEST(GatherScatterCode, NumbersBelowTheLeastAreRefused) {
  const auto fault = [](auto append) {
    TestProgram program;
    append(program);
    return fault_at(program.code, 0);
  };
  const auto copy = [&](long bytes) { return fault([&](TestProgram& p) { p.copy(bytes, -1); }); };
  EXPECT_EQ(copy(0), ProgramFault::none);
  EXPECT_EQ(copy(-1), ProgramFault::copy_size);
  const auto last_block = [&](long bytes) { return fault([&](TestProgram& p) { p.mcopy({{-1, 4}, {-1, bytes}}); }); };
  EXPECT_EQ(last_block(0), ProgramFault::none);
  EXPECT_EQ(last_block(-1), ProgramFault::copy_size);
  EXPECT_EQ(fault([](TestProgram& p) { p.mcopy({{-1, -1}, {-1, 4}}); }), ProgramFault::copy_size);
  EXPECT_EQ(fault([](TestProgram& p) {
              p.mcopy({{-1, 4}}), p.copy(-1, -1), p.copy(-1, -1);
            }),
            ProgramFault::none)
      << "what lies behind it is not its own";
  const auto gosub = [&](int repetitions) {
    return fault([&](TestProgram& p) { p.gosub(repetitions, -1, -1, -1, -1); });
  };
  EXPECT_EQ(gosub(0), ProgramFault::none);
  EXPECT_EQ(gosub(-1), ProgramFault::repetitions);
  const auto control = [&](int operation) { return fault([&](TestProgram& p) { p.control(operation, -5); }); };
  EXPECT_EQ(control(0), ProgramFault::none);
  EXPECT_EQ(control(kLeaveControl), ProgramFault::none);
  EXPECT_EQ(control(kLeaveControl - 1), ProgramFault::control);
}

}  // namespace
}  // namespace openlapi
