// The two sides of a bulk transfer: memory that the origin of the data exposes to the peer's adapter, and data that is
// read here.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>

#include "dataplane/transport/bulk_memory.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

static_assert(sizeof(MemoryKey) == sizeof(wire::BulkKey));
inline wire::BulkKey to_wire(const MemoryKey& key) { return std::bit_cast<wire::BulkKey>(key); }
inline MemoryKey from_wire(const wire::BulkKey& key) { return std::bit_cast<MemoryKey>(key); }

// Memory of ours that peers may read as long as this object exists.
class Exposure {
 public:
  Exposure() = default;
  Exposure(Exposure&& other) noexcept : memory_(std::exchange(other.memory_, nullptr)), key_(other.key_) {}
  Exposure& operator=(Exposure&& other) noexcept {
    end();
    memory_ = std::exchange(other.memory_, nullptr);
    key_ = other.key_;
    return *this;
  }
  ~Exposure() { end(); }

  // False: it cannot be exposed.
  bool begin(BulkMemory& memory, const void* address, std::size_t length) {
    if (!memory.expose(address, length, key_)) return false;
    memory_ = &memory;
    return true;
  }
  void end() {
    if (memory_ != nullptr) std::exchange(memory_, nullptr)->withdraw(key_);
  }
  bool active() const { return memory_ != nullptr; }
  const MemoryKey& key() const { return key_; }

 private:
  BulkMemory* memory_ = nullptr;  // null: nothing is exposed
  MemoryKey key_;
};

// Data of a peer that our adapter reads, in pieces that may finish in any order.
struct BulkPull {
  PeerIndex peer;
  bool is_get;
  std::uint32_t id;          // of the incoming message, or of the request
  std::uint32_t message_id;  // that attach_done names
  std::uint64_t source_address;
  MemoryKey key;
  std::byte* local;  // the user's memory, which a read in progress may still write to
  std::uint64_t length;

  BulkMemory* memory = nullptr;
  std::uint64_t piece = 0;  // bytes of one read; the last one may have fewer
  std::uint64_t begun = 0;  // bytes
  std::uint32_t reads = 0;  // begun and not ended
  bool failed = false;      // no more reads begin; after the last ending the data comes in packets
  bool given_up = false;    // nobody waits for it; kept until the last ending
};

}  // namespace openlapi
