// Moves private memory of this process to the file that its neighbours map, at the same address, while its threads go
// on: whoever writes there meanwhile waits for some tens of microseconds.
//
// One promotion at a time, by a thread whose stack and whatever else it writes are kept private (KeptRanges), and which
// does not allocate. Memory that an adapter uses stays where it is; what is only registered is registered anew. Where
// others have pinned memory, too, the kernel looks whether it is this.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataplane/base/adapter_memory.h"
#include "shm/direct/address_table.h"
#include "shm/direct/direct_file.h"
#include "shm/direct/gate.h"
#include "shm/direct/page_copy.h"
#include "shm/direct/page_room.h"
#include "shm/direct/promotable.h"
#include "shm/direct/userfault.h"

namespace openlapi::direct {

class Promoter {
 public:
  static constexpr std::uint64_t kChunk = 64 << 10;

  // `events` reports what happens to promoted memory. All outlive it.
  Promoter(DirectFile& file, AddressTable& table, Gate& gate, const ProcessView& process, const Userfault& events);

  // False: `reason` says why nothing can be promoted here.
  bool start(std::string& reason);
  bool stops_system_calls() const { return fault_.stops_system_calls(); }

  // Opens the chunk around `address`. Fine, too, if it is open already.
  Refusal promote(std::uint64_t address);

  // Opens what of these segments of static data can be copied soon. Only while no other thread runs that writes there:
  // memory of a file cannot be protected. Without start(), too: then nobody is to unmap them. The first refusal.
  Refusal promote_data_segments(const std::vector<AddressRange>& segments);

  // For a child of a fork: closes the descriptors.
  void close() {
    fault_.close();
    page_map_.close();
  }

 private:
  struct DataMapping {
    AddressRange range;
    bool anonymous;
  };
  std::vector<DataMapping> data_mappings(const std::vector<AddressRange>& segments) const;
  Refusal open_data(const DataMapping& data, std::uint64_t& pages);
  Refusal move_data(const DataMapping& data, std::uint64_t offset, std::uint64_t& pages);
  bool has_room();
  Refusal move_to_file(const AddressRange& range);
  Refusal move(const AddressRange& range, std::uint64_t offset);
  Refusal replace_protected(const AddressRange& range, std::uint64_t offset);
  Refusal replace_taken(const AddressRange& range, std::uint64_t offset);
  bool map_file(const AddressRange& range, std::uint64_t offset);
  Refusal publish(const AddressRange& range, std::uint64_t offset);
  bool is_at(const AddressRange& range, std::uint64_t offset) const;
  bool find_in_file(std::uint64_t address, AddressRange& range, std::uint64_t& offset) const;

  DirectFile& file_;
  AddressTable& table_;
  Gate& gate_;
  const ProcessView process_;
  const Userfault& events_;
  AdapterMemory& adapters_ = AdapterMemory::of_process();
  Userfault fault_;  // of memory that is not promoted yet
  PageRoom room_;
  PageMap page_map_;
};

}  // namespace openlapi::direct
