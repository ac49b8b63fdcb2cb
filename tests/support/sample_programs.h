// Data gather/scatter programs that obey all rules and touch no byte twice, made by the generator of
// gather_scatter_reference.h: what a message through one of them does is known byte for byte.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/layout/gather_scatter_program.h"
#include "tests/support/gather_scatter_reference.h"

namespace openlapi {

class SampleProgram {
 public:
  // Always the same ones, made at the first call.
  static std::span<const SampleProgram> all();

  const std::shared_ptr<const GatherScatterProgram>& program() const { return program_; }
  bool distributes() const { return program_->has_control; }  // its data passes through combine_bytes()

  // Where the byte at this position of a message goes, from a base of 0, and how.
  ReferenceByte at(std::uint64_t position) const;

 private:
  static bool make(std::uint64_t seed, SampleProgram& sample);
  bool describe(TestProgram& program, std::uint64_t seed);

  std::shared_ptr<const GatherScatterProgram> program_;
  std::int64_t extent_ = 0;
  std::vector<ReferenceByte> first_, second_;  // of the first application; of the second, as of all later ones
};

}  // namespace openlapi
