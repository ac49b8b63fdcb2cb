// The machine of the guide's chapter 6, as simple as it can be: it runs the integers of a program from the beginning,
// byte by byte, and knows of no packets. What the library makes of a program is compared with it, by unit tests over
// seeded random bytes and by the fuzz target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dataplane/layout/gather_scatter_program.h"

namespace openlapi {

// A program and a message that goes through it.
struct TestProgram {
  std::vector<int> code;
  ProgramSource source;  // its code is empty: use described()
  std::uint64_t total_bytes = 0;

  ProgramSource described() const {
    ProgramSource all = source;
    all.code = code;
    return all;
  }

  // Each appends one instruction.
  void copy(long bytes, long offset);
  void mcopy(const std::vector<CodeBlock>& blocks);
  void gosub(int reps, long offset, long stride, int to, int back);
  void iterate(int to);
  void control(int operation, int operand);
};

// Any bytes make some program: mostly one that obeys the rules, with an integer changed here and there.
TestProgram program_from_bytes(std::span<const std::uint8_t> bytes);

struct ReferenceByte {
  std::uint64_t address;  // from a base of 0
  int operation;          // of the CONTROL in force, negative: none
  int operand;
};

enum class ReferenceEnd : std::uint8_t { complete, broken, too_long };

struct ReferenceRun {
  ReferenceEnd end;
  std::vector<ReferenceByte> bytes;  // until there
};

ReferenceRun run_reference(const TestProgram& program);

// A data distribution manager function, and what it makes of one byte. What it makes of a byte twice is something else.
long combine_bytes(void* inbound, void* target, long bytes, int operand, int operation);
std::byte combined_byte(std::byte inbound, std::byte target, const ReferenceByte& byte);

// Runs the program both ways, whole, in packets and from any position. Aborts where they differ. Returns whether the
// library accepted the program.
bool check_against_reference(std::span<const std::uint8_t> bytes);
bool check_against_reference(const TestProgram& program, std::uint64_t seed);

}  // namespace openlapi
