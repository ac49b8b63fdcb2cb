// Which memory may be promoted: moved to a file at the same address while threads use it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "dataplane/base/process_maps.h"

namespace openlapi::direct {

enum class Refusal : std::uint8_t {
  kNone,
  kNever,         // nothing is promoted in this process
  kOtherThreads,  // they run, and userfaultfd does not stop what their system calls write
  kNotMapped,     // or the list of mappings cannot be read
  kOtherKind,     // shared, of a file, executable, or not writable
  kKeptPrivate,   // a thread's control block, the end of the main stack, what is ours
  kFutex,         // a thread waits there for what is named by the memory's identity
  kLocked,        // against being swapped out: the file would not be
  kPinned,        // an adapter uses it, or perhaps somebody else
  kNoRoom,        // in the table or the file
  kTooMuch,       // to be copied while the program waits
  kMappings,      // the process has so many that it needs the rest itself
  kChanged,       // the program has changed the mapping meanwhile
  kSystem,        // the kernel refused a step
};
std::string_view text_of(Refusal refusal);

struct AddressRange {
  std::uint64_t begin, end;
};

// Ranges of the process that stay private. Mappings of the same kind are one to the kernel if they touch.
class KeptRanges {
 public:
  static constexpr std::size_t kMost = 8;

  void add(std::uint64_t begin, std::uint64_t end);
  // Makes `range` smaller so that it has `address`, but nothing of these. False: they have `address`.
  bool clip(std::uint64_t address, AddressRange& range) const;

 private:
  std::size_t count_ = 0;
  std::array<AddressRange, kMost> ranges_;
};

// Takes [begin, end) out of a range that has `address`. False: `address` is in it.
bool clip_out(std::uint64_t address, std::uint64_t begin, std::uint64_t end, AddressRange& range);

// What is looked at in this process.
struct ProcessView {
  const KeptRanges& kept;
  const MappingList& mappings;
  std::uint32_t most_mappings;
  AddressRange room{};  // as long as a chunk, for whoever promotes
};

// The part around `address` of the mapping it is in, at most a chunk of `chunk` bytes (a power of two, of whole pages),
// that may be promoted now. Nothing: `refusal` says why.
std::optional<AddressRange> promotable_range(std::uint64_t address, std::uint64_t chunk, const ProcessView& process,
                                             Refusal& refusal);

// Whether the memory is locked, for which it would not be promoted.
bool is_locked(const AddressRange& range);

// VmPin: how much of this process's memory adapters or the kernel have pinned, wherever it is. UINT64_MAX: it cannot be
// found out.
std::uint64_t pinned_bytes();

// Of the mappings that the kernel allows a process (vm.max_map_count), those up to which memory is promoted: a chunk
// takes two more, and at the limit the program's own mmap() and free() fail.
std::uint32_t most_mappings();

// Threads of the process.
std::uint32_t count_threads();

}  // namespace openlapi::direct
