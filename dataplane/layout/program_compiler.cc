// Compiles the integers of a data gather/scatter program in two steps: walk all routines that can be reached (what is
// wrong is found here, and the order in which callees come before callers), then lower each to operations.
#include <algorithm>
#include <limits>
#include <unordered_map>

#include "dataplane/layout/gather_scatter_program.h"

namespace openlapi {

namespace {

constexpr std::uint64_t kMostBytes = std::numeric_limits<std::int64_t>::max();

struct WalkedRoutine {
  std::int64_t start;
  std::uint32_t depth = 1;    // nested activations, itself included
  std::uint32_t lowered = 0;  // index in the program, when done
  bool done = false;
  bool repeats = false;  // its ITERATE leads to its start
};

// Offsets that a routine's passes touch: [low, high). Empty: low > high.
struct Footprint {
  std::int64_t low = std::numeric_limits<std::int64_t>::max();
  std::int64_t high = std::numeric_limits<std::int64_t>::min();
  bool fits = true;  // in 64 bits

  void add(std::int64_t from, std::int64_t to) {
    low = std::min(low, from);
    high = std::max(high, to);
  }

  void add_block(const CodeBlock& block) {
    std::int64_t end;
    fits = !__builtin_add_overflow(block.offset, block.bytes, &end) && fits;
    if (fits) add(block.offset, end);
  }

  // `inner` at `offset`, and again at each of `count` strides.
  void add_passes(const Footprint& inner, std::int64_t offset, std::int64_t stride, std::int64_t count) {
    std::int64_t travel, first, last;
    fits = fits && inner.fits && !__builtin_mul_overflow(stride, count - 1, &travel) &&
           !__builtin_add_overflow(inner.low, offset, &first) && !__builtin_add_overflow(inner.high, offset, &last) &&
           !__builtin_add_overflow(travel < 0 ? first : last, travel, travel < 0 ? &first : &last);
    if (fits) add(first, last);
  }
};

class Compiler {
 public:
  Compiler(const ProgramSource& source, GatherScatterProgram& program) : source_(source), program_(program) {}

  void run() {
    program_.atom_size = source_.atom_size;
    program_.fault = walk();
    if (program_.fault != ProgramFault::none) return;
    for (const std::uint32_t routine : callees_first_) {
      program_.fault = lower(walked_[routine]);
      if (program_.fault != ProgramFault::none) return;
    }
    finish();
  }

 private:
  struct Activation {
    std::uint32_t routine;
    std::int64_t at;
  };

  ProgramFault walk();
  ProgramFault step(Activation& activation);
  void end_routine(bool repeats);
  ProgramFault enter_callee(std::int64_t start);
  ProgramFault lower(WalkedRoutine& walked);
  ProgramFault lower_gosub(const Instruction& instruction, std::int64_t at);
  void append_copy(const CodeBlock& block);
  bool join(const LayoutOperation& op);
  void join_strided();
  void append_control(std::int32_t control);
  LayoutOperation repeated(std::uint32_t routine, std::uint64_t offset, std::uint64_t stride,
                           std::uint64_t count) const;
  std::uint64_t pieces_from(std::uint32_t first) const;
  void finish();
  ProgramFault disagreement() const;

  bool add_bytes(std::uint64_t length, std::uint64_t count) {
    std::uint64_t bytes;
    if (__builtin_mul_overflow(length, count, &bytes) || __builtin_add_overflow(bytes_, bytes, &bytes)) return false;
    bytes_ = bytes;
    return bytes <= kMostBytes;
  }

  const ProgramSource& source_;
  GatherScatterProgram& program_;
  std::vector<WalkedRoutine> walked_;
  std::unordered_map<std::int64_t, std::uint32_t> routine_at_;
  std::vector<Activation> stack_;
  std::size_t walked_ints_ = 0;
  std::vector<std::uint32_t> callees_first_;
  std::vector<Footprint> footprints_;  // by lowered routine
  // The routine that is being lowered.
  std::uint32_t first_ = 0;
  std::uint64_t bytes_ = 0;
  std::int32_t control_ = -1;
  Footprint footprint_;
};

ProgramFault Compiler::walk() {
  if (source_.code.empty()) return ProgramFault::other;
  if (const ProgramFault fault = enter_callee(0); fault != ProgramFault::none) return fault;
  while (!stack_.empty()) {
    if (const ProgramFault fault = step(stack_.back()); fault != ProgramFault::none) return fault;
  }
  if (source_.depth < 0 || walked_[0].depth > static_cast<std::uint32_t>(source_.depth)) return ProgramFault::stack;
  return ProgramFault::none;
}

ProgramFault Compiler::step(Activation& activation) {
  Instruction instruction;
  const std::int64_t at = program_.fault_at = activation.at;
  if (const ProgramFault fault = decode_instruction(source_.code, at, instruction); fault != ProgramFault::none) {
    return fault;
  }
  // Each ITERATE leads to the beginning of one routine, so routines share no instruction. A walk longer than the code
  // goes in a circle, or through code that is none.
  walked_ints_ += instruction.ints;
  if (walked_ints_ > source_.code.size()) return ProgramFault::branch;
  switch (instruction.opcode) {
    case Opcode::iterate:
      end_routine(at + instruction.to == walked_[activation.routine].start);
      return ProgramFault::none;
    case Opcode::gosub:
      activation.at += instruction.back;
      return enter_callee(at + instruction.to);
    case Opcode::control:
      program_.has_control = true;
      break;
    case Opcode::copy:
    case Opcode::mcopy:
      break;
  }
  activation.at += static_cast<std::int64_t>(instruction.ints);
  return ProgramFault::none;
}

void Compiler::end_routine(bool repeats) {
  const std::uint32_t ended = stack_.back().routine;
  WalkedRoutine& routine = walked_[ended];
  routine.done = true;
  routine.repeats = repeats;
  callees_first_.push_back(ended);
  stack_.pop_back();
  if (stack_.empty()) return;
  std::uint32_t& caller_depth = walked_[stack_.back().routine].depth;
  caller_depth = std::max(caller_depth, routine.depth + 1);
}

ProgramFault Compiler::enter_callee(std::int64_t start) {
  const auto [found, inserted] = routine_at_.try_emplace(start, static_cast<std::uint32_t>(walked_.size()));
  if (inserted) {
    walked_.push_back({start});
    stack_.push_back({found->second, start});
    return ProgramFault::none;
  }
  const WalkedRoutine& callee = walked_[found->second];
  if (!callee.done) return ProgramFault::stack;  // it calls itself
  std::uint32_t& depth = walked_[stack_.back().routine].depth;
  depth = std::max(depth, callee.depth + 1);
  return ProgramFault::none;
}

ProgramFault Compiler::lower(WalkedRoutine& walked) {
  first_ = static_cast<std::uint32_t>(program_.operations.size());
  bytes_ = 0;
  control_ = -1;
  footprint_ = {};
  std::int64_t at = walked.start;
  Instruction instruction;
  while (decode_instruction(source_.code, at, instruction) == ProgramFault::none &&
         instruction.opcode != Opcode::iterate) {
    program_.fault_at = at;
    if (instruction.opcode == Opcode::copy) {
      append_copy(instruction.block);
    } else if (instruction.opcode == Opcode::mcopy) {
      for (std::int64_t i = 0; i < instruction.count; ++i) append_copy(instruction.mcopy_block(i));
    } else if (instruction.opcode == Opcode::control) {
      program_.controls.push_back({instruction.operation, instruction.operand});
      append_control(static_cast<std::int32_t>(program_.controls.size() - 1));
    } else if (const ProgramFault fault = lower_gosub(instruction, at); fault != ProgramFault::none) {
      return fault;
    }
    if (bytes_ > kMostBytes) return ProgramFault::other;
    at += instruction.opcode == Opcode::gosub ? instruction.back : static_cast<std::int64_t>(instruction.ints);
  }
  join_strided();
  walked.lowered = static_cast<std::uint32_t>(program_.routines.size());
  const auto end = static_cast<std::uint32_t>(program_.operations.size());
  program_.routines.push_back({first_, end, control_, bytes_, pieces_from(first_)});
  footprints_.push_back(footprint_);
  return ProgramFault::none;
}

std::uint64_t Compiler::pieces_from(std::uint32_t first) const {
  std::uint64_t pieces = 0;
  for (const LayoutOperation& op : std::span(program_.operations).subspan(first)) {
    const std::uint64_t each = op.kind == LayoutOperation::Kind::call ? program_.routines[op.routine].pieces : 1;
    std::uint64_t all;
    if (__builtin_mul_overflow(each, op.count, &all) || __builtin_add_overflow(pieces, all, &pieces)) {
      return std::numeric_limits<std::uint64_t>::max();
    }
  }
  return pieces;
}

ProgramFault Compiler::lower_gosub(const Instruction& instruction, std::int64_t at) {
  const WalkedRoutine& walked = walked_[routine_at_.at(at + instruction.to)];
  if (instruction.count > 1 && !walked.repeats) return ProgramFault::branch;
  if (instruction.count == 0) return ProgramFault::none;
  const LayoutRoutine& callee = program_.routines[walked.lowered];
  const auto count = static_cast<std::uint64_t>(instruction.count);
  if (callee.bytes == 0) {
    if (callee.exit_control >= 0) append_control(callee.exit_control);
    return ProgramFault::none;
  }
  const std::uint64_t bytes_before = bytes_;
  if (!add_bytes(callee.bytes, count)) return ProgramFault::other;
  footprint_.add_passes(footprints_[walked.lowered], instruction.offset, instruction.stride, instruction.count);
  LayoutOperation op = repeated(walked.lowered, static_cast<std::uint64_t>(instruction.offset),
                                static_cast<std::uint64_t>(instruction.stride), count);
  op.bytes_before = bytes_before;
  op.control = control_;
  if (!join(op)) program_.operations.push_back(op);
  if (callee.exit_control >= 0) control_ = callee.exit_control;
  return ProgramFault::none;
}

void Compiler::append_copy(const CodeBlock& block) {
  if (block.bytes == 0) return;
  const auto length = static_cast<std::uint64_t>(block.bytes);
  footprint_.add_block(block);
  const LayoutOperation op{
      LayoutOperation::Kind::copy, 0, control_, bytes_, static_cast<std::uint64_t>(block.offset), length, 0, 1};
  add_bytes(length, 1);  // a sum that is too large stays so, for lower() to see
  if (!join(op)) program_.operations.push_back(op);
}

// Makes a block part of the one before it, if it goes on where that ends. With CONTROL every block stays a block: the
// user's function is called once for each.
bool Compiler::join(const LayoutOperation& op) {
  if (program_.has_control || program_.operations.size() == first_) return false;
  LayoutOperation& last = program_.operations.back();
  if (!op.is_block() || !last.is_block() || last.offset + last.length != op.offset) return false;
  last.length += op.length;
  return true;
}

// Equal blocks at equal distances become one operation, when there are enough of them to pay for its set-up.
void Compiler::join_strided() {
  constexpr std::size_t kWorthIt = 6;
  auto& all = program_.operations;
  std::size_t kept = first_;
  for (std::size_t i = first_; i < all.size();) {
    std::size_t end = i + 1;
    const auto follows = [&](std::size_t next) {
      return all[i].is_block() && all[next].is_block() && all[next].length == all[i].length &&
             all[next].offset - all[next - 1].offset == all[i + 1].offset - all[i].offset;
    };
    while (end < all.size() && follows(end)) ++end;
    if (program_.has_control || end - i < kWorthIt) end = i + 1;
    LayoutOperation joined = all[i];
    if (end - i > 1) {
      joined.stride = all[i + 1].offset - all[i].offset;
      joined.count = end - i;
    }
    all[kept++] = joined;
    i = end;
  }
  all.resize(kept);
}

void Compiler::append_control(std::int32_t control) {
  program_.operations.push_back({LayoutOperation::Kind::control, 0, control, bytes_, 0, 0, 0, 0});
  control_ = control;
}

// `count` passes of a routine. A routine that is one copy needs no call.
LayoutOperation Compiler::repeated(std::uint32_t routine, std::uint64_t offset, std::uint64_t stride,
                                   std::uint64_t count) const {
  const LayoutRoutine& callee = program_.routines[routine];
  const LayoutOperation call{LayoutOperation::Kind::call, routine, -1, 0, offset, callee.bytes, stride, count};
  if (callee.end - callee.first != 1) return call;
  LayoutOperation copy = program_.operations[callee.first];
  if (copy.kind != LayoutOperation::Kind::copy) return call;
  copy.offset += offset;
  if (count == 1) return copy;
  if (copy.count == 1) {
    if (stride == copy.length && !program_.has_control) {
      copy.length *= count;  // no overflow: the caller adds up the same product
      return copy;
    }
    copy.stride = stride;
    copy.count = count;
    return copy;
  }
  if (stride != copy.stride * copy.count) return call;
  copy.count *= count;
  return copy;
}

void Compiler::finish() {
  const LayoutRoutine& main = program_.routines.back();
  program_.bytes = main.bytes;
  program_.pieces = main.pieces;
  program_.repeats = walked_[0].repeats;
  program_.frames = walked_[0].depth + 1;
  const auto routine = static_cast<std::uint32_t>(program_.routines.size() - 1);
  if (main.bytes > 0) {
    program_.root = repeated(routine, 0, static_cast<std::uint64_t>(source_.extent), kMostBytes / main.bytes);
  }
  program_.disagreement = disagreement();
}

ProgramFault Compiler::disagreement() const {
  const auto none_repeats = [](const WalkedRoutine& routine) { return !routine.repeats; };
  if (std::any_of(walked_.begin(), walked_.end(), none_repeats)) return ProgramFault::branch;
  if (program_.has_control && source_.density != LayoutDensity::sparse) return ProgramFault::control;
  if (source_.size < 0 || static_cast<std::uint64_t>(source_.size) != program_.bytes) return ProgramFault::other;
  const Footprint& touched = footprints_.back();
  if (program_.bytes > 0 && (!touched.fits || touched.low < source_.leftmost || touched.high > source_.rightmost)) {
    return ProgramFault::other;
  }
  const LayoutRoutine& main = program_.routines.back();
  const bool one_block =
      program_.bytes == 0 || (main.end - main.first == 1 && program_.operations[main.first].count == 1 &&
                              program_.operations[main.first].kind == LayoutOperation::Kind::copy);
  if (source_.density != LayoutDensity::sparse && !one_block) return ProgramFault::other;
  if (source_.density == LayoutDensity::unit && source_.extent != source_.size) return ProgramFault::other;
  return ProgramFault::none;
}

}  // namespace

std::shared_ptr<const GatherScatterProgram> GatherScatterProgram::compile(const ProgramSource& source) {
  auto program = std::make_shared<GatherScatterProgram>();
  Compiler(source, *program).run();
  program->verified = source.verified;
  return program;
}

std::uint64_t GatherScatterProgram::contiguous_bytes() const {
  if (fault != ProgramFault::none || has_control || root.kind != LayoutOperation::Kind::copy) return 0;
  return repeats ? root.length : std::min(root.length, bytes);
}

ProgramFault GatherScatterProgram::gather_fault(std::uint64_t total_bytes) const {
  if (has_control && fault == ProgramFault::none) return ProgramFault::control;
  return scatter_fault(total_bytes, true);
}

ProgramFault GatherScatterProgram::scatter_fault(std::uint64_t total_bytes, bool distributes) const {
  if (fault != ProgramFault::none) return fault;
  if (has_control && !distributes) return ProgramFault::control;
  if (total_bytes == 0) return ProgramFault::none;
  if (bytes == 0 || total_bytes > root.length * root.count) return ProgramFault::other;
  return total_bytes > bytes && !repeats ? ProgramFault::branch : ProgramFault::none;
}

}  // namespace openlapi
