// A mapping of a group's shared memory, and views into it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dataplane/base/file_descriptor.h"
#include "shm/segment_layout.h"

namespace openlapi::shm {

// The queue of one task as its senders and its owner see it. Pointers are valid as long as the mapping.
struct SegmentView {
  SegmentHeader* header = nullptr;
  SenderLine* senders = nullptr;  // by local index, as eras
  Era* eras = nullptr;
  WithheldBits* withheld = nullptr;  // by slot
  PacketLine* lines = nullptr;
  std::byte* near_rooms = nullptr;
  std::byte* rooms = nullptr;
};

// The memory file and its mapping. The file has no name: it disappears with the last process that maps it or has it
// open.
class GroupMemory {
 public:
  GroupMemory() = default;
  GroupMemory(GroupMemory&& other) noexcept;
  GroupMemory& operator=(GroupMemory&& other) noexcept;
  ~GroupMemory();

  // Creates the file, seals its size, and maps it. The header is complete except for `state`.
  static GroupMemory create(const GroupLayout& layout, std::uint64_t nonce, PeerIndex leader, ShmSetupError& error);

  // Maps a file that the leader created, after checking size, seals and header. Takes the descriptor.
  static GroupMemory attach(const GroupLayout& layout, std::uint64_t nonce, FileDescriptor file, ShmSetupError& error);

  bool valid() const { return base_ != nullptr; }
  int descriptor() const { return file_.get(); }
  const GroupLayout& layout() const { return layout_; }
  GroupHeader& header() const { return *reinterpret_cast<GroupHeader*>(base_); }
  SegmentView segment(std::uint32_t index) const;

  // Takes the lock that says "task `index` is alive": byte `index` of the file, until this process ends or closes the
  // file.
  bool hold_life_lock(std::uint32_t index, std::string& error) const;

  // Whether another process holds that lock. A process cannot see its own locks.
  bool life_lock_held(std::uint32_t index) const;

  // Populates the pages that every packet touches, so that the first packet need not.
  void populate(std::uint32_t index) const;

 private:
  bool map(ShmSetupError& error);

  GroupLayout layout_{};
  FileDescriptor file_;
  std::byte* base_ = nullptr;
};

}  // namespace openlapi::shm
