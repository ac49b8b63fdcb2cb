// The two sides of a bulk transfer: memory that the origin of the data exposes to the peer's adapters, and data that is
// read here.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/memory_range.h"
#include "dataplane/transport/bulk_memory.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

static_assert(sizeof(MemoryKey) == sizeof(wire::BulkKey));

// As many as a record may bring.
class MemoryKeys {
 public:
  MemoryKeys() = default;
  // Those that a record brings; none if its payload is no keys.
  static MemoryKeys of(const wire::Record& record) {
    MemoryKeys found;
    if (!wire::is_length_of_keys(record.header.payload_length)) return found;
    found.count_ = record.header.payload_length / sizeof(MemoryKey);
    std::memcpy(found.keys_.data(), record.payload, record.header.payload_length);
    return found;
  }
  void add(const MemoryKey& key) { keys_[count_++] = key; }
  std::span<const MemoryKey> all() const { return {keys_.data(), count_}; }
  std::uint32_t bytes() const { return count_ * static_cast<std::uint32_t>(sizeof(MemoryKey)); }
  bool empty() const { return count_ == 0; }

 private:
  std::array<MemoryKey, wire::kMostBulkKeys> keys_{};
  std::uint32_t count_ = 0;
};

// Memory of ours that peers may read, through each of the adapters to which it was added, as long as this object
// exists.
class Exposure {
 public:
  Exposure() = default;
  Exposure(Exposure&& other) noexcept
      : memory_(std::exchange(other.memory_, nullptr)),
        key_(other.key_),
        is_spare_(other.is_spare_),
        further_(std::move(other.further_)) {}
  Exposure& operator=(Exposure&& other) noexcept {
    end();
    memory_ = std::exchange(other.memory_, nullptr);
    key_ = other.key_;
    is_spare_ = other.is_spare_;
    further_ = std::move(other.further_);
    return *this;
  }
  ~Exposure() { end(); }

  // False: it cannot be exposed. `is_spare`: the peer need not read through it.
  bool add(BulkMemory& memory, const void* address, std::size_t length, bool is_spare = false) {
    if (active()) return add_further(memory, address, length, is_spare);
    if (!memory.expose(address, length, key_)) return false;
    memory_ = &memory;
    is_spare_ = is_spare;
    return true;
  }
  void end() {
    further_.reset();
    if (memory_ != nullptr) std::exchange(memory_, nullptr)->withdraw(key_);
  }
  bool active() const { return memory_ != nullptr; }
  bool is_through(const BulkMemory& memory) const { return find(memory) != nullptr; }
  // The same without those that are spare.
  bool relies_on(const BulkMemory& memory) const {
    const Exposure* const found = find(memory);
    return found != nullptr && !found->is_spare_;
  }
  MemoryKeys keys() const {
    MemoryKeys all;
    for (const Exposure* one = this; one != nullptr && one->active(); one = one->further_.get()) all.add(one->key_);
    return all;
  }

 private:
  const Exposure* find(const BulkMemory& memory) const {
    if (memory_ == &memory) return this;
    return further_ != nullptr ? further_->find(memory) : nullptr;
  }
  bool add_further(BulkMemory& memory, const void* address, std::size_t length, bool is_spare) {
    auto one = std::make_unique<Exposure>();
    if (!one->add(memory, address, length, is_spare)) return false;
    one->further_ = std::move(further_);
    further_ = std::move(one);
    return true;
  }

  BulkMemory* memory_ = nullptr;  // null: nothing is exposed
  MemoryKey key_;
  bool is_spare_ = false;
  std::unique_ptr<Exposure> further_;  // through other adapters
};

// Data of a peer that our adapters read, in chunks that may finish in any order.
struct BulkPull {
  // An adapter that reads from the one whose key it has.
  struct Path {
    BulkMemory* memory = nullptr;
    MemoryKey key{};
    std::uint32_t number = 0;     // in Peer::bulk_paths
    std::uint32_t reads = 0;      // begun and not ended
    std::uint64_t under_way = 0;  // bytes of these
    Nanoseconds latest = 0;       // when one of them began to be the only one, or one ended
    bool brought = false;         // one of them has ended well
    bool is_spare = false;        // has not served since the pull began: joins the others when it does
    bool failed = false;          // no more reads begin
    bool stopped = false;         // those that were under way write no more
  };
  struct Chunk {
    std::uint64_t offset = 0;
    std::uint64_t length = 0;  // 0: there is none
  };
  struct Read {
    Chunk chunk{};
    std::uint32_t path = 0;
  };
  static constexpr std::size_t kMostReads = wire::kMostBulkKeys * tuning::kBulkReadsPerPath;
  static_assert(kMostReads >= tuning::kBulkReadsPerMessage);

  PeerIndex peer;
  bool is_get;
  std::uint32_t id;          // of the incoming message, or of the request
  std::uint32_t message_id;  // that attach_done names
  std::uint64_t source_address;
  std::byte* local;  // the user's memory, which a read in progress may still write to
  std::uint64_t length;

  bool watched = false;  // others could bring what a path does not bring
  std::array<Path, wire::kMostBulkKeys> all_paths{};
  std::uint32_t path_count = 0;
  std::array<Read, kMostReads> under_way{};
  std::vector<Chunk> again{};  // that were begun and not brought
  std::uint64_t begun = 0;     // bytes, once at least
  std::uint32_t reads = 0;     // begun and not ended
  bool failed = false;         // no more reads begin; after the last ending the data comes in packets
  bool given_up = false;       // nobody waits for it; kept until the last ending

  std::span<Path> paths() { return {all_paths.data(), path_count}; }
  std::span<const Path> paths() const { return {all_paths.data(), path_count}; }
  // What is to be begun next, as far as it lies together; its length is 0 when all was begun.
  Chunk next() const { return again.empty() ? Chunk{begun, length - begun} : again.back(); }
  // That was begun with so much of next().
  void take(std::uint64_t bytes) {
    if (again.empty()) {
      begun += bytes;
    } else if (again.back().length == bytes) {
      again.pop_back();
    } else {
      again.back() = {again.back().offset + bytes, again.back().length - bytes};
    }
  }
  // Of the user's memory: what is made known to an adapter together. No chunk goes beyond it.
  MemoryRange around(const Chunk& chunk) const {
    const std::uint64_t begin = chunk.offset - chunk.offset % tuning::kBulkPiece;
    return {reinterpret_cast<std::uintptr_t>(local) + begin, std::min(tuning::kBulkPiece, length - begin)};
  }
  std::uint64_t left() const {  // bytes to be begun
    std::uint64_t sum = length - begun;
    for (const Chunk& chunk : again) sum += chunk.length;
    return sum;
  }
};

}  // namespace openlapi
