// The memory of a neighbour as an accessor reaches it: by loads and stores, while the neighbour's gate is open.
//
// A mapped window shows a region of the neighbour's file, also what of it is not in use yet: the table says how far an
// operation may go. Windows stay when the generation changes, since their bytes remain what they are; what leads to
// them, the places, is of one generation. Not thread-safe: belongs to whom the accessor's line belongs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>

#include "dataplane/base/file_descriptor.h"
#include "shm/direct/control_memory.h"
#include "shm/direct/direct_file.h"
#include "shm/direct/gate.h"

namespace openlapi::direct {

class NeighbourMemory {
 public:
  // `accessor`: the line that the neighbour has admitted us to.
  NeighbourMemory(ControlMemory control, std::uint32_t accessor);
  ~NeighbourMemory();
  NeighbourMemory(const NeighbourMemory&) = delete;
  NeighbourMemory& operator=(const NeighbourMemory&) = delete;

  // The neighbour's file of this number. False: `error` says what is wrong with it. Not in a visit: it uses a window of
  // the file before, which a neighbour may leave behind it in the middle.
  bool use_file(std::uint64_t number, FileDescriptor file, std::string& error);
  // Whether the neighbour has begun another file than ours. Until use_file() nothing can be reached.
  bool needs_file() const { return control_.header().file.load(std::memory_order_acquire) != file_number_; }

  Entrance& entrance() { return entrance_; }
  const ControlMemory& control() const { return control_; }

  // Where these bytes of the neighbour are, until the end of the visit. Null: they cannot be reached, or not yet.
  std::byte* find(const Entrance::Visit& visit, std::uint64_t address, std::uint64_t length) const {
    const Place& place = places_[place_number(address)];
    const std::uint64_t distance = address - place.begin;
    const bool known =
        place.generation == visit.generation() && distance < place.size && length <= place.size - distance;
    return known ? place.bytes + distance : nullptr;
  }

  // What is known of one chunk serves all that is in it and in the same range of the table.
  static std::uint64_t chunk_of(std::uint64_t address) { return address >> kChunkBits; }

  // For what find() has not found; not in a visit. True: it is found now, unless the gate is closed meanwhile.
  bool learn(std::uint64_t address, std::uint64_t length);

  // One operation on one range. False: it cannot be reached; `operation(bytes)` was not called.
  template <typename Operation>
  bool reach(std::uint64_t address, std::uint64_t length, Operation operation) {
    do {
      const Entrance::Visit visit(entrance_);
      if (std::byte* const bytes = find(visit, address, length)) {
        operation(bytes);
        return true;
      }
    } while (learn(address, length));
    return false;
  }

 private:
  // What is known of one chunk of addresses. No open generation is zero.
  struct Place {
    std::uint64_t generation = 0;
    std::uint64_t begin = 0, size = 0;  // of the neighbour's addresses, within one window
    std::byte* bytes = nullptr;
  };
  // A page that is not in the table, as it was then.
  struct Missing {
    std::uint64_t generation = 0, additions = 0, page = 0;
  };
  static constexpr unsigned kPageBits = 12;
  static constexpr std::size_t kMissing = 256;
  static constexpr unsigned kChunkBits = 16;
  static constexpr std::size_t kPlaces = 4096;
  static constexpr std::size_t kMostWindows = 4096;
  // Of a heap, which is in one piece: few windows show all of it.
  static constexpr std::uint64_t kHeapWindow = std::uint64_t{1} << 30;

  static std::size_t place_number(std::uint64_t address) { return chunk_of(address) & (kPlaces - 1); }
  bool read_entry(std::uint64_t address, std::uint64_t length, std::uint64_t& begin, std::uint64_t& end,
                  std::uint64_t& offset) const;
  struct Window {
    std::byte* bytes;
    std::uint64_t size;
  };
  std::uint64_t window_size(std::uint64_t offset) const;
  std::byte* window(std::uint64_t begin, std::uint64_t size);
  void forget();

  ControlMemory control_;
  Entrance entrance_;
  DirectFile file_;
  std::uint64_t file_number_ = UINT64_MAX;             // none yet
  std::uint64_t heap_size_ = 0;                        // that it has
  std::unordered_map<std::uint64_t, Window> windows_;  // by where they begin in the file
  std::array<Place, kPlaces> places_;
  std::array<Missing, kMissing> missing_;
};

}  // namespace openlapi::direct
