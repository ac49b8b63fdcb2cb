#include "dataplane/layout/program_cursor.h"

#include <algorithm>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/base/own_memory.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/strided_copy.h"

namespace openlapi {

namespace {

constexpr std::uint64_t kNoLimit = UINT64_MAX;

class PieceVisitor {
 public:
  explicit PieceVisitor(std::span<LayoutPiece> pieces) : pieces_(pieces) {}
  std::uint64_t room() const { return pieces_.size() - count_; }
  std::size_t count() const { return count_; }

  void block(std::uint64_t address, std::uint64_t length) {
    if (count_ > 0 && pieces_[count_ - 1].address + pieces_[count_ - 1].length == address) {
      pieces_[count_ - 1].length += length;
    } else {
      pieces_[count_++] = {address, length};
    }
  }
  void blocks(std::uint64_t address, std::uint64_t length, std::uint64_t stride, std::uint64_t count) {
    for (; count > 0; --count, address += stride) block(address, length);
  }

 private:
  std::span<LayoutPiece> pieces_;
  std::size_t count_ = 0;
};

struct GatherVisitor {
  std::byte* into;

  static std::uint64_t room() { return kNoLimit; }
  void block(std::uint64_t address, std::uint64_t length) {
    copy_bytes(into, pointer_to(address), length);
    into += length;
  }
  void blocks(std::uint64_t address, std::uint64_t length, std::uint64_t stride, std::uint64_t count) {
    copy_strided(into, length, pointer_to(address), stride, length, count);
    into += length * count;
  }
};

struct ScatterVisitor {
  const std::byte* from;

  static std::uint64_t room() { return kNoLimit; }
  void block(std::uint64_t address, std::uint64_t length) {
    copy_bytes(pointer_to(address), from, length);
    from += length;
  }
  void blocks(std::uint64_t address, std::uint64_t length, std::uint64_t stride, std::uint64_t count) {
    copy_strided(pointer_to(address), stride, from, length, length, count);
    from += length * count;
  }
};

// As ScatterVisitor, but by the user's function while a CONTROL is in force.
struct DistributeVisitor {
  const std::byte* from;
  DistributionFunction* function;
  const ControlMode* modes;
  const std::int32_t* control;

  static std::uint64_t room() { return kNoLimit; }
  void block(std::uint64_t address, std::uint64_t length) {
    if (*control < 0 || modes[*control].operation < 0) {
      copy_bytes(pointer_to(address), from, length);
    } else {
      distribute(modes[*control], pointer_to(address), length);
    }
    from += length;
  }
  void blocks(std::uint64_t address, std::uint64_t length, std::uint64_t stride, std::uint64_t count) {
    for (; count > 0; --count, address += stride) block(address, length);
  }
  // The function is the user's, and so are its faults. Those that it would have because of the program are found
  // before.
  void distribute(const ControlMode& mode, std::byte* target, std::uint64_t length) const {
    if (in_guarded_copy()) touch_writable(target, length);
    const WithoutGuard unguarded;
    for (std::uint64_t done = 0; done < length;) {
      const auto rest = static_cast<long>(length - done);
      // The function takes its input as void*; by its contract it does not change it.
      const long processed =
          function(const_cast<std::byte*>(from) + done, target + done, rest, mode.operand, mode.operation);
      done += static_cast<std::uint64_t>(processed > 0 && processed < rest ? processed : rest);
    }
  }
};

}  // namespace

ProgramCursor::ProgramCursor(std::shared_ptr<const GatherScatterProgram> program, std::uint64_t base,
                             std::uint64_t total_bytes, DistributionFunction* function)
    : LayoutCursor(total_bytes), program_(std::move(program)), base_(base), function_(function) {
  frames_ = few_frames_.data();
  if (program_->frames > few_frames_.size()) {
    many_frames_ = std::make_unique<Frame[]>(program_->frames);
    frames_ = many_frames_.get();
  }
  set_guarded(program_->verified);
  start();
}

void ProgramCursor::start() {
  depth_ = 0;
  control_ = -1;
  frames_[0] = {&program_->root, &program_->root + 1, base_, 0, 0};
}

void ProgramCursor::enter(const LayoutOperation& call, std::uint64_t pass) {
  const std::uint64_t base = frames_[depth_].base + call.offset + pass * call.stride;
  const LayoutRoutine& routine = program_->routines[call.routine];
  const LayoutOperation* const operations = program_->operations.data();
  frames_[++depth_] = {operations + routine.first, operations + routine.end, base, pass, 0};
}

void ProgramCursor::end_pass() {
  Frame& frame = frames_[depth_];
  Frame& caller = frames_[depth_ - 1];
  const LayoutOperation& call = *caller.op;
  if (++frame.pass < call.count) {
    frame.base += call.stride;
    frame.op = program_->operations.data() + program_->routines[call.routine].first;
  } else {
    --depth_;
    ++caller.op;
  }
}

// Visits all bytes, unless the visitor has no more room.
template <class Visitor>
void ProgramCursor::walk(std::uint64_t bytes, Visitor& visitor) {
  std::uint64_t left = bytes;
  while (left > 0 && visitor.room() > 0) {
    Frame& frame = frames_[depth_];
    if (frame.inside == 0) left -= visit_whole_copies(frame, left, visitor);
    if (frame.op == frame.end) {
      end_pass();
      continue;
    }
    if (left == 0 || visitor.room() == 0) break;
    switch (frame.op->kind) {
      case LayoutOperation::Kind::copy:
        left -= visit_copy(frame, left, visitor);
        break;
      case LayoutOperation::Kind::call:
        enter(*frame.op, 0);
        break;
      case LayoutOperation::Kind::control:
        control_ = frame.op->control;
        ++frame.op;
        break;
    }
  }
  position_ += bytes - left;
}

// The common case by itself: whole copies, one after the other, through all passes of a routine that has nothing else.
// Everything is in local variables: the compiler must assume that bytes are copied over anything else.
template <class Visitor>
std::uint64_t ProgramCursor::visit_whole_copies(Frame& frame, std::uint64_t bytes, Visitor& visitor) {
  Visitor local = visitor;
  const LayoutOperation* op = frame.op;
  const LayoutOperation* const end = frame.end;
  std::uint64_t base = frame.base;
  std::uint64_t left = bytes;
  std::uint64_t more = 0;  // passes after this one
  std::uint64_t stride = 0;
  const LayoutOperation* first = end;
  if (depth_ > 0) {
    const LayoutOperation& call = *frames_[depth_ - 1].op;
    more = call.count - 1 - frame.pass;
    stride = call.stride;
    first = program_->operations.data() + program_->routines[call.routine].first;
  }
  while (true) {
    for (; op != end && op->kind == LayoutOperation::Kind::copy && op->count <= local.room(); ++op) {
      const std::uint64_t length = op->length * op->count;
      if (length > left) break;
      if (op->count == 1) {
        local.block(base + op->offset, length);
      } else {
        local.blocks(base + op->offset, op->length, op->stride, op->count);
      }
      left -= length;
    }
    if (op != end || more == 0 || left == 0) break;
    --more;
    ++frame.pass;
    base += stride;
    op = first;
  }
  frame.op = op;
  frame.base = base;
  visitor = local;
  return bytes - left;
}

template <class Visitor>
std::uint64_t ProgramCursor::visit_copy(Frame& frame, std::uint64_t bytes, Visitor& visitor) {
  const LayoutOperation& op = *frame.op;
  std::uint64_t address = frame.base + op.offset;
  if (op.count == 1) {
    const std::uint64_t length = std::min(bytes, op.length - frame.inside);
    visitor.block(address + frame.inside, length);
    frame.inside += length;
    if (frame.inside == op.length) {
      ++frame.op;
      frame.inside = 0;
    }
    return length;
  }
  std::uint64_t left = op.count;
  std::uint64_t moved = 0;
  if (frame.inside != 0) {
    const std::uint64_t block = frame.inside / op.length;
    const std::uint64_t before = frame.inside % op.length;
    left -= block;
    address += block * op.stride;
    if (before != 0) {
      moved = std::min(bytes, op.length - before);
      visitor.block(address + before, moved);
      if (before + moved == op.length) {
        --left;
        address += op.stride;
      }
    }
  }
  // A division costs as much as copying a block: only when the packet ends in here.
  const bool fits = left * op.length <= bytes - moved;
  const std::uint64_t whole = std::min(fits ? left : (bytes - moved) / op.length, visitor.room());
  visitor.blocks(address, op.length, op.stride, whole);
  moved += whole * op.length;
  left -= whole;
  if (moved < bytes && left > 0 && visitor.room() > 0) {
    const std::uint64_t length = std::min(bytes - moved, op.length);
    visitor.block(address + whole * op.stride, length);
    moved += length;
    if (length == op.length) --left;
  }
  frame.inside += moved;
  if (left == 0) {
    ++frame.op;
    frame.inside = 0;
  }
  return moved;
}

std::size_t ProgramCursor::next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) {
  PieceVisitor visitor(pieces);
  walk(std::min(bytes, bytes_left()), visitor);
  return visitor.count();
}

void ProgramCursor::gather(std::byte* into, std::uint64_t bytes) {
  GatherVisitor visitor{into};
  walk(std::min(bytes, bytes_left()), visitor);
}

void ProgramCursor::scatter(const std::byte* from, std::uint64_t bytes) {
  bytes = std::min(bytes, bytes_left());
  if (program_->has_control) {
    DistributeVisitor visitor{from, function_, program_->controls.data(), &control_};
    walk(bytes, visitor);
  } else {
    ScatterVisitor visitor{from};
    walk(bytes, visitor);
  }
}

// By division where passes repeat and by binary search inside of them; nothing is run.
void ProgramCursor::seek(std::uint64_t position) {
  if (position == position_) return;
  start();
  position_ = position;
  if (position == 0) return;
  std::uint64_t rest = position;
  while (true) {
    Frame& frame = frames_[depth_];
    const auto starts_behind = [](std::uint64_t bytes, const LayoutOperation& op) { return bytes < op.bytes_before; };
    const LayoutOperation& op = *(std::upper_bound(frame.op, frame.end, rest, starts_behind) - 1);
    frame.op = &op;
    rest -= op.bytes_before;
    if (op.control >= 0) control_ = op.control;
    if (op.kind != LayoutOperation::Kind::call) break;
    const std::uint64_t pass = rest / op.length;
    rest %= op.length;
    const std::int32_t chosen = program_->routines[op.routine].exit_control;
    if (pass > 0 && chosen >= 0) control_ = chosen;
    enter(op, pass);
  }
  frames_[depth_].inside = rest;
}

std::uint64_t ProgramCursor::piece_count() const {
  if (total_bytes_ == 0) return 0;
  const std::uint64_t passes = (total_bytes_ - 1) / program_->bytes + 1;
  std::uint64_t pieces;
  return __builtin_mul_overflow(passes, program_->pieces, &pieces) ? UINT64_MAX : pieces;
}

bool ProgramCursor::as_strided(wire::StridedLayout& layout) const {
  const LayoutOperation& root = program_->root;
  if (root.kind != LayoutOperation::Kind::copy || program_->has_control || total_bytes_ == 0) return false;
  const std::uint64_t first = base_ + root.offset;
  if (total_bytes_ <= root.length) {
    layout = {first, total_bytes_, total_bytes_, 1};
    return true;
  }
  if (total_bytes_ % root.length != 0) return false;
  layout = {first, root.length, root.stride, total_bytes_ / root.length};
  return true;
}

std::unique_ptr<LayoutCursor> ProgramCursor::clone() const {
  auto copy = std::make_unique<ProgramCursor>(program_, base_, total_bytes_, function_);
  copy->set_guarded(guarded());
  return copy;
}

}  // namespace openlapi
