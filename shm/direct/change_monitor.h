// Takes out of the table what the program unmaps or moves. The kernel keeps the thread that does so waiting until its
// event has been read; the gate is shut before that, so that what the thread does next finds no accessor that begins.
//
// What is moved becomes private again: a place in the file is one of an address. Its thread tells of the move first,
// and waits once more, to tell that its old addresses are unmapped: so it finds nothing half done.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "dataplane/base/process_maps.h"
#include "shm/direct/address_table.h"
#include "shm/direct/direct_file.h"
#include "shm/direct/file_places.h"
#include "shm/direct/gate.h"
#include "shm/direct/private_thread.h"
#include "shm/direct/userfault.h"

struct uffd_msg;

namespace openlapi::direct {

class ChangeMonitor {
 public:
  // All outlive it.
  struct Means {
    const DirectFile& file;
    FilePlaces& places;
    AddressTable& table;
    Gate& gate;
    const MappingList& mappings;
  };
  explicit ChangeMonitor(const Means& means) : means_(means) {}

  // False: `reason` says why.
  bool start(const AddressRange& stack, std::string& reason);
  // Before it, nothing is watched any more.
  void stop();

  const Userfault& events() const { return events_; }
  // For a child of a fork, which has no thread: closes the descriptors.
  void close();

 private:
  void run();
  void read_events();
  struct Surroundings {
    std::uint64_t life_below = UINT64_MAX;        // of the mapping of the file that ends at or contains an address
    std::uint64_t next = FilePlaces::kAddresses;  // the next place that is mapped, in any life
  };
  Surroundings look_around(std::uint64_t begin, std::uint64_t end) const;
  void take_unmapped(std::uint64_t begin, std::uint64_t end);
  void take_moved(std::uint64_t from, std::uint64_t to, std::uint64_t length);
  struct Moved {
    AddressRange range;           // where it is now
    int rights;                   // PROT_*
    std::uint64_t offset;         // in the file
    std::uint64_t bytes;          // of the file that it has; what is behind them is zero
    bool is_left_behind = false;  // the old addresses are still mapped (MREMAP_DONTUNMAP)
  };
  std::optional<Moved> find_moved(std::uint64_t from, std::uint64_t to, std::uint64_t length) const;
  bool make_private(const Moved& moved);
  void cover_end(const Moved& moved);

  const Means means_;
  bool some_is_elsewhere_ = false;  // memory of the file that is not at the address of its place
  AddressRange moved_away_{};  // what was moved last, and is all private: the event of its old addresses is to come
  Userfault events_;
  FileDescriptor stop_;
  PrivateThread thread_;
};

}  // namespace openlapi::direct
