// Data gather/scatter programs as a user builds them, and every mistake that can be made in one: what LAPI_Util finds
// when it registers or packs, and LAPI_Xfer when it sends.
#pragma once

#include <climits>
#include <functional>
#include <utility>

#include "tests/system/api_case.h"

namespace api_case {

// Code and description of a program, both as a user builds them.
struct Program {
  std::vector<int> code;
  lapi_dgsp_descr_t description{};

  template <class Instruction>
  Instruction* append(int size) {
    code.resize(code.size() + static_cast<std::size_t>(size));
    return reinterpret_cast<Instruction*>(&code[code.size() - static_cast<std::size_t>(size)]);
  }
  void copy(long bytes, long offset) {
    auto* instruction = append<lapi_dgsm_copy_t>(LAPI_DGSM_COPY_SIZE);
    instruction->opcode = LAPI_DGSM_COPY;
    instruction->bytes = bytes;
    instruction->offset = offset;
  }
  void blocks(const std::vector<std::pair<long, long>>& list) {
    const int count = static_cast<int>(list.size());
    auto* instruction = append<lapi_dgsm_mcopy_t>(LAPI_DGSM_MCOPY_SIZE + (count - 1) * LAPI_DGSM_MCOPY_BLOCK_SIZE);
    instruction->opcode = LAPI_DGSM_MCOPY;
    instruction->count = count;
    lapi_dgsm_block_t* block = instruction->block;
    for (const auto& [displacement, length] : list) {
      block->block_disp = displacement;
      block->block_len = length;
      ++block;
    }
  }
  void call(int reps, long offset, long stride, int to) {
    auto* instruction = append<lapi_dgsm_gosub_t>(LAPI_DGSM_GOSUB_SIZE);
    instruction->opcode = LAPI_DGSM_GOSUB;
    instruction->reps = reps;
    instruction->offset = offset;
    instruction->stride = stride;
    instruction->to_loc = to;
    instruction->ret_loc = LAPI_DGSM_GOSUB_SIZE;
  }
  void iterate(int to) {
    auto* instruction = append<lapi_dgsm_iterate_t>(LAPI_DGSM_ITERATE_SIZE);
    instruction->opcode = LAPI_DGSM_ITERATE;
    instruction->iter_loc = to;
  }
  void control(int operation, int operand) {
    auto* instruction = append<lapi_dgsm_control_t>(LAPI_DGSM_CONTROL_SIZE);
    instruction->opcode = LAPI_DGSM_CONTROL;
    instruction->operation = operation;
    instruction->operand = operand;
  }
  void describe(int depth, long size, long extent, long left, long right) {
    description.code = code.data();
    description.code_size = static_cast<int>(code.size());
    description.depth = depth;
    description.density = LAPI_DGSM_SPARSE;
    description.size = size;
    description.extent = extent;
    description.lext = left;
    description.rext = right;
    description.atom_size = 0;
  }
};

// Every element's integer and character, as in chapter 6.
inline Program structures() {
  Program program;
  program.copy(5, 0);
  program.iterate(-LAPI_DGSM_COPY_SIZE);
  program.describe(1, 5, 8, 0, 5);
  return program;
}

// Three 4-byte columns of a matrix of eight rows of 64 bytes.
inline constexpr long kRows = 8;
inline Program columns() {
  Program program;
  program.call(kRows, 0, 64, LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_ITERATE_SIZE);
  program.iterate(-LAPI_DGSM_GOSUB_SIZE);
  program.blocks({{4, 4}, {32, 4}, {16, 4}});
  program.iterate(-LAPI_DGSM_MCOPY_SIZE - 2 * LAPI_DGSM_MCOPY_BLOCK_SIZE);
  program.describe(2, 12 * kRows, 64 * kRows, 0, 64 * kRows);
  return program;
}

inline int register_as(Program& program, lapi_dg_handle_t* result = nullptr, lapi_handle_t on = 0) {
  lapi_util_t command{};
  command.RegDgsp.Util_type = LAPI_REGISTER_DGSP;
  command.RegDgsp.idgsp = &program.description;
  const int code = LAPI_Util(on, &command);
  if (result != nullptr) *result = command.RegDgsp.dgsp_handle;
  return code;
}

// What is wrong with a good program after one change.
struct Mistake {
  const char* name;
  int code;
  std::function<void(Program&)> make;
  bool runs = false;  // only its description is wrong: without verification it does what its code says
};

inline const std::vector<Mistake>& mistakes() {
  constexpr int kMain = 0, kCall = 0;
  constexpr std::size_t kBody = LAPI_DGSM_GOSUB_SIZE + LAPI_DGSM_ITERATE_SIZE;
  static const auto gosub = [](Program& p) { return reinterpret_cast<lapi_dgsm_gosub_t*>(&p.code[kCall]); };
  static const auto mcopy = [](Program& p) { return reinterpret_cast<lapi_dgsm_mcopy_t*>(&p.code[kBody]); };
  static const std::vector<Mistake> all = {
      {"opcode 0", LAPI_ERR_DGSP_OPC, [](Program& p) { p.code[kMain] = 0; }},
      {"opcode 6 in a subroutine", LAPI_ERR_DGSP_OPC, [](Program& p) { p.code[kBody] = 6; }},
      {"negative block length", LAPI_ERR_DGSP_COPY_SZ, [](Program& p) { mcopy(p)->block[0].block_len = -4; }},
      {"negative count of blocks", LAPI_ERR_DGSP_COPY_SZ, [](Program& p) { mcopy(p)->count = -1; }},
      {"negative COPY", LAPI_ERR_DGSP_COPY_SZ,
       [](Program& p) {
         p = structures();
         reinterpret_cast<lapi_dgsm_copy_t*>(p.code.data())->bytes = -5;
       }},
      {"more blocks than code", LAPI_ERR_DGSP_BRANCH, [](Program& p) { mcopy(p)->count = INT_MAX; }},
      {"jump before the code", LAPI_ERR_DGSP_BRANCH, [](Program& p) { gosub(p)->to_loc = -1; }},
      {"jump behind the code", LAPI_ERR_DGSP_BRANCH, [](Program& p) { gosub(p)->to_loc = INT_MAX; }},
      {"return out of the code", LAPI_ERR_DGSP_BRANCH, [](Program& p) { gosub(p)->ret_loc = INT_MIN; }},
      {"endless loop", LAPI_ERR_DGSP_BRANCH, [](Program& p) { gosub(p)->ret_loc = 0; }},
      {"no ITERATE", LAPI_ERR_DGSP_BRANCH, [](Program& p) { p.description.code_size -= LAPI_DGSM_ITERATE_SIZE; }},
      {"ITERATE to itself", LAPI_ERR_DGSP_BRANCH, [](Program& p) { p.code[kBody - 1] = 0; }, true},
      {"ITERATE out of the code", LAPI_ERR_DGSP_BRANCH, [](Program& p) { p.code.back() = INT_MAX; }},
      {"recursion", LAPI_ERR_DGSP_STACK, [](Program& p) { gosub(p)->to_loc = 0; }},
      {"depth too small", LAPI_ERR_DGSP_STACK, [](Program& p) { p.description.depth = 1; }},
      {"depth 0", LAPI_ERR_DGSP_STACK, [](Program& p) { p.description.depth = 0; }},
      {"negative reps", LAPI_ERR_DGSP_REPS, [](Program& p) { gosub(p)->reps = -1; }},
      {"CONTROL that is not sparse", LAPI_ERR_DGSP_CTL,
       [](Program& p) {
         p = Program();
         p.control(1, 2);
         p.copy(4, 0);
         p.iterate(-LAPI_DGSM_CONTROL_SIZE - LAPI_DGSM_COPY_SIZE);
         p.describe(1, 4, 4, 0, 4);
         p.description.density = LAPI_DGSM_UNIT;
       }},
      {"CONTROL of a negative operation", LAPI_ERR_DGSP_CTL,
       [](Program& p) {
         p = Program();
         p.control(-2, 2);
         p.iterate(-LAPI_DGSM_CONTROL_SIZE);
         p.describe(1, 0, 4, 0, 0);
       }},
      {"wrong size", LAPI_ERR_DGSP_OTHER, [](Program& p) { --p.description.size; }, true},
      {"left of the template", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.lext = 5; }, true},
      {"right of the template", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.rext = 64 * kRows - 30; }, true},
      {"not contiguous", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.density = LAPI_DGSM_CONTIG; }, true},
      {"no unit", LAPI_ERR_DGSP_OTHER,
       [](Program& p) {
         p = structures();
         p.description.density = LAPI_DGSM_UNIT;
       },
       true},
      {"stride that overflows", LAPI_ERR_DGSP_OTHER, [](Program& p) { gosub(p)->stride = LONG_MAX; }, true},
      {"nothing to copy", LAPI_ERR_DGSP_OTHER,
       [](Program& p) {
         for (int block = 0; block < 3; ++block) mcopy(p)->block[block].block_len = 0;
       }},
      {"atom_size -1", LAPI_ERR_DGSP_ATOM, [](Program& p) { p.description.atom_size = -1; }},
      {"atom_size too big", LAPI_ERR_DGSP_ATOM, [](Program& p) { p.description.atom_size = query(MAX_ATOM_SIZE) + 1; }},
      {"code_size 0", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.code_size = 0; }},
      {"code_size -1", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.code_size = -1; }},
      {"no code", LAPI_ERR_DGSP_OTHER, [](Program& p) { p.description.code = nullptr; }},
      {"unknown density", LAPI_ERR_DGSP_OTHER,
       [](Program& p) { p.description.density = static_cast<lapi_dgsp_density_t>(7); }},
  };
  return all;
}

inline Program with_mistake(const Mistake& mistake) {
  Program program = columns();
  mistake.make(program);
  if (program.description.code != nullptr) program.description.code = program.code.data();
  return program;
}

}  // namespace api_case
