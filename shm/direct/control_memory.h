// What a task and its neighbours share about the task's memory that neighbours reach directly: the gate, the table of
// what is open, and a line for each accessor. The task is the owner, a neighbour's context that reads and writes its
// memory an accessor. Both are of one node and one wire version.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/base/file_descriptor.h"
#include "shm/segment_layout.h"

namespace openlapi::direct {

inline constexpr std::uint32_t kMostEntries = 2048;
inline constexpr std::uint64_t kControlMagic = 0x6c617069'64697234;  // "lapidir4"

// The addresses [begin, end) of the owner are at `offset` of its file. Written by the owner. What an accessor reads
// while the generation changes may be of two entries.
struct TableEntry {
  std::atomic<std::uint64_t> begin, end, offset;
};

// Written by the accessor alone, but for `wanted`.
struct alignas(shm::kLinePair) AccessorLine {
  // Not zero: it is in an operation, kEntering or, once it has looked, in this generation.
  std::atomic<std::uint64_t> busy;
  // What it has done since it came.
  std::atomic<std::uint64_t> puts, put_bytes, gets, got_bytes;
  // An address that it has read so often by unattended_memory.h that it should be opened; 0: none. The owner takes it.
  std::atomic<std::uint64_t> wanted;
};

struct ControlHeader {
  std::uint64_t magic;
  std::uint32_t accessors;  // lines behind the header
  std::uint32_t barrier;    // 1: the owner's close() has a barrier in all processes; 0: accessors need a fence
  std::uint64_t proof;      // random: recognises the memory among other processes'
  std::uint32_t read_only;  // 1: the owner's memory may be read, and not be changed
  // Of the owner's OwnProof, by which it is known when others read its memory; address 0: nobody may.
  std::uint64_t own_proof_address, own_proof;

  // Bits 0-7: for how many reasons the gate is closed. What is above is another number each time that it opens. Written
  // by the owner.
  alignas(shm::kLinePair) std::atomic<std::uint64_t> generation;
  // Entries of the table. While the gate is open entries are only added, and an entry's end only moves up.
  std::atomic<std::uint64_t> count;
  // Number of the file that all entries are of. The owner begins a new one after a fork.
  std::atomic<std::uint64_t> file;
  std::atomic<std::uint64_t> additions;         // to the table, since the beginning
  std::atomic<std::int32_t> file_descriptor;    // the owner's, of that file
  std::atomic<std::uint32_t> counters_private;  // 1: the owner moves its counters itself
  // The file has the owner's heap: so many bytes from kHeapPlace on. 0: it has not.
  std::atomic<std::uint64_t> heap_size;
  // 1: an accessor has moved a counter of the owner's, who has not looked yet. Accessors change 0 to 1, the owner 1 to
  // 0.
  alignas(shm::kLinePair) std::atomic<std::uint32_t> counters_moved;
  // 1: an accessor's line has a wanted address. Changed by both as the word before is, which an accessor sets after it.
  std::atomic<std::uint32_t> wishes;
  // 1: no thread of the owner polls for messages: it computes, or sleeps. Written by the owner, when that changes.
  alignas(shm::kLinePair) std::atomic<std::uint32_t> unattended;
  alignas(shm::kLinePair) TableEntry entries[kMostEntries];
};

static_assert(offsetof(ControlHeader, generation) == 128 && offsetof(ControlHeader, count) == 136);
static_assert(offsetof(ControlHeader, file_descriptor) == 160 && offsetof(ControlHeader, counters_moved) == 256);
static_assert(offsetof(ControlHeader, wishes) == 260);
static_assert(offsetof(ControlHeader, own_proof_address) == 32 && offsetof(ControlHeader, unattended) == 384);
static_assert(offsetof(ControlHeader, entries) == 512 && sizeof(TableEntry) == 24 && sizeof(AccessorLine) == 128);
static_assert(sizeof(ControlHeader) % alignof(AccessorLine) == 0);

inline constexpr std::uint64_t kEntering = 1;  // no generation in which the gate is open
inline constexpr std::uint64_t kCloserMask = 0xff;
constexpr bool is_closed(std::uint64_t generation) { return (generation & kCloserMask) != 0; }

// A mapping of it; children of a fork do not have it.
class ControlMemory {
 public:
  ControlMemory() = default;
  ControlMemory(ControlMemory&& other) noexcept;
  ControlMemory& operator=(ControlMemory&& other) noexcept;
  ~ControlMemory();

  // The owner's: a new memory file of a size that nobody can change. The gate is closed for one reason.
  static ControlMemory create(std::uint32_t accessors, std::string& error);

  // An accessor's: takes the descriptor and checks size, seals and header.
  static ControlMemory attach(FileDescriptor file, std::string& error);

  // In a child of a fork, which has the descriptor, but not the mapping.
  void leave_child();

  bool valid() const { return base_ != nullptr; }
  int descriptor() const { return file_.get(); }  // the owner's
  ControlHeader& header() const { return *static_cast<ControlHeader*>(base_); }
  std::uint32_t accessors() const { return accessors_; }
  AccessorLine& line(std::uint32_t accessor) const;  // below accessors()

 private:
  bool map(std::uint32_t accessors, std::string& error);

  FileDescriptor file_;
  void* base_ = nullptr;
  std::uint32_t accessors_ = 0;
};

}  // namespace openlapi::direct
