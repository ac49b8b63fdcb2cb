#include "tests/support/sample_programs.h"

#include <algorithm>

#include "dataplane/base/check.h"
#include "tests/support/seeded_random.h"

namespace openlapi {

namespace {

constexpr std::size_t kPrograms = 256;
constexpr std::uint64_t kMostSeeds = 100'000;
constexpr std::uint64_t kStream = 0x70726f67;
constexpr std::uint64_t kLongestApplication = 2'000;  // bytes

std::int64_t offset_of(const ReferenceByte& byte) { return static_cast<std::int64_t>(byte.address); }

bool by_offset(const ReferenceByte& a, const ReferenceByte& b) { return offset_of(a) < offset_of(b); }

bool is_disjoint(std::vector<ReferenceByte> bytes) {
  std::sort(bytes.begin(), bytes.end(), by_offset);
  return std::adjacent_find(bytes.begin(), bytes.end(), [](const ReferenceByte& a, const ReferenceByte& b) {
           return a.address == b.address;
         }) == bytes.end();
}

// Bytes of which the generator makes a program without mistakes.
std::vector<std::uint8_t> faultless_bytes(SeededRandom& random) {
  std::vector<std::uint8_t> bytes(random.between(16, 160));
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  bytes[0] = static_cast<std::uint8_t>(18 + 4 * random.below(50));
  return bytes;
}

}  // namespace

std::span<const SampleProgram> SampleProgram::all() {
  static const std::vector<SampleProgram> samples = [] {
    std::vector<SampleProgram> made;
    for (std::uint64_t seed = 0; made.size() < kPrograms; ++seed) {
      OPENLAPI_CHECK(seed < kMostSeeds);
      SampleProgram sample;
      // Every second one has a CONTROL, which few programs have.
      if (make(seed, sample) && sample.distributes() == (made.size() % 2 != 0)) made.push_back(std::move(sample));
    }
    return made;
  }();
  return samples;
}

bool SampleProgram::make(std::uint64_t seed, SampleProgram& sample) {
  SeededRandom random(seed, kStream);
  TestProgram program = program_from_bytes(faultless_bytes(random));
  const auto compiled = GatherScatterProgram::compile(program.described());
  if (compiled->fault != ProgramFault::none || compiled->bytes == 0 || compiled->bytes > kLongestApplication) {
    return false;
  }
  program.total_bytes = compiled->bytes;
  return sample.describe(program, seed);
}

// Completes what the program says of itself, so that its applications lie side by side.
bool SampleProgram::describe(TestProgram& program, std::uint64_t seed) {
  SeededRandom random(seed, kStream + 1);
  const std::uint64_t bytes = program.total_bytes;
  first_ = run_reference(program).bytes;
  if (first_.size() != bytes || !is_disjoint(first_)) return false;
  const auto [lowest, highest] = std::minmax_element(first_.begin(), first_.end(), by_offset);
  program.source.leftmost = offset_of(*lowest);
  program.source.rightmost = offset_of(*highest) + 1;
  program.source.size = static_cast<std::int64_t>(bytes);
  const std::int64_t gap = random.chance(0.5) ? 0 : static_cast<std::int64_t>(random.below(40));
  extent_ = program.source.rightmost - program.source.leftmost + gap;
  if (random.chance(0.2)) extent_ = -extent_;
  program.source.extent = extent_;
  const std::uint32_t atoms[] = {0, 0, 0, 1, 4, 8, 24, 56};
  program.source.atom_size = random.pick(atoms);

  program.total_bytes = 2 * bytes;
  const ReferenceRun twice = run_reference(program);
  program_ = GatherScatterProgram::compile(program.described());
  const bool valid =
      program_->scatter_fault(UINT32_MAX, true) == ProgramFault::none && program_->disagreement == ProgramFault::none;
  if (!valid || twice.end != ReferenceEnd::complete) return false;
  second_.assign(twice.bytes.begin() + static_cast<std::ptrdiff_t>(bytes), twice.bytes.end());
  return true;
}

ReferenceByte SampleProgram::at(std::uint64_t position) const {
  if (position < first_.size()) return first_[position];
  ReferenceByte byte = second_[position % second_.size()];
  const auto further = static_cast<std::int64_t>(position / second_.size() - 1) * extent_;
  byte.address += static_cast<std::uint64_t>(further);
  return byte;
}

}  // namespace openlapi
