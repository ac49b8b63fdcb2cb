// Runs a data gather/scatter program over memory; it keeps the interpreter's state between two packets.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

#include "dataplane/layout/gather_scatter_program.h"
#include "dataplane/layout/layout_cursor.h"

namespace openlapi {

// The user's data distribution manager function, called for every block while a CONTROL is in force. Returns how many
// bytes it has processed: fewer than `bytes`, and it is called again for the rest; any other value counts as all.
using DistributionFunction = long(void* inbound, void* target, long bytes, int operand, int operation);

class ProgramCursor final : public LayoutCursor {
 public:
  // The caller has checked gather_fault() or scatter_fault(). `base`: where the template begins; offsets are added
  // modulo 2^64. `function`: needed only by scatter() of programs with CONTROL.
  ProgramCursor(std::shared_ptr<const GatherScatterProgram> program, std::uint64_t base, std::uint64_t total_bytes,
                DistributionFunction* function = nullptr);

  void seek(std::uint64_t position) override;
  std::size_t next_pieces(std::span<LayoutPiece> pieces, std::uint64_t bytes) override;
  void gather(std::byte* into, std::uint64_t bytes) override;
  void scatter(const std::byte* from, std::uint64_t bytes) override;
  std::uint32_t atom_size() const override { return program_->atom_size; }
  bool only_copies() const override { return !program_->has_control; }
  std::uint64_t piece_count() const override;
  bool as_strided(wire::StridedLayout& layout) const override;
  std::unique_ptr<LayoutCursor> clone() const override;
  std::unique_ptr<LayoutCursor> detached() const override { return clone(); }

 private:
  // One pass of a routine. frames_[0] is the pass of the root operation, which never ends.
  struct Frame {
    const LayoutOperation* op;
    const LayoutOperation* end;
    std::uint64_t base;
    std::uint64_t pass;
    std::uint64_t inside;  // bytes of the present copy that are before the position
  };

  template <class Visitor>
  void walk(std::uint64_t bytes, Visitor& visitor);
  template <class Visitor>
  std::uint64_t visit_whole_copies(Frame& frame, std::uint64_t bytes, Visitor& visitor);
  template <class Visitor>
  static std::uint64_t visit_copy(Frame& frame, std::uint64_t bytes, Visitor& visitor);
  void enter(const LayoutOperation& call, std::uint64_t pass);
  void end_pass();
  void start();

  std::shared_ptr<const GatherScatterProgram> program_;
  std::uint64_t base_;
  DistributionFunction* function_;
  std::int32_t control_ = -1;  // the mode in force, or -1
  std::uint32_t depth_ = 0;    // of the present frame
  Frame* frames_;
  std::array<Frame, 4> few_frames_;
  std::unique_ptr<Frame[]> many_frames_;
};

}  // namespace openlapi
