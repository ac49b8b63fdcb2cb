// The gets and read-modify-writes of this task that wait for answers, in the order in which they were issued.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "dataplane/layout/layout_cursor.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

struct PendingRequest {
  PeerIndex peer = 0;
  void* buffer = nullptr;            // where the answer goes; null: not wanted
  std::uint64_t length = 0;          // bytes that were asked for
  std::uint64_t received = 0;        // bytes that are in place
  std::uint64_t origin_counter = 0;  // moves when all is in place
  bool is_get = false;
  void* handler = nullptr;  // get: runs when all is in place; null: none
  void* handler_info = nullptr;
  std::unique_ptr<LayoutCursor> layout{};  // where the answer to a get goes instead of to `buffer`
  std::uint64_t list_bytes = 0;            // bytes kept by `layout`
  std::uint32_t pull = 0;                  // the BulkPull that reads the answer; 0: the answer comes in packets
  bool read = false;                       // this end reads the answer: none comes in packets
  std::uint64_t read_from = 0;             // there, if an adapter does so without a message
};

// An id consists of a slot and the slot's generation, so an answer that comes late or twice finds nothing. Slots are
// reused; the table grows to the largest number of requests that were outstanding at the same time.
class RequestTable {
 public:
  // `first_generation`: of every slot.
  explicit RequestTable(std::uint32_t first_generation = 0) : first_generation_(first_generation & kGenerations) {}

  std::uint32_t add(PendingRequest request);
  PendingRequest* find(std::uint32_t id);
  const PendingRequest* find(std::uint32_t id) const { return const_cast<RequestTable*>(this)->find(id); }
  void remove(std::uint32_t id);

  std::size_t size() const { return size_; }

  // Serial numbers of the youngest request so far, and of the oldest one that still waits (UINT64_MAX: none waits).
  std::uint64_t last_serial() const { return last_serial_; }
  std::uint64_t oldest_serial() const;

  // Forgets all requests to `peer`, calling give_up(request, serial number) for each.
  template <class GiveUp>
  void remove_all_to(PeerIndex peer, GiveUp give_up) {
    for (std::uint32_t index = 0; index < slots_.size(); ++index) {
      if (!slots_[index].used || slots_[index].request.peer != peer) continue;
      give_up(slots_[index].request, slots_[index].serial);
      unlink(index);
    }
  }

 private:
  static constexpr std::uint32_t kIndexBits = 20;  // 1 Mi requests outstanding, 4096 generations
  static constexpr std::uint32_t kGenerations = UINT32_MAX >> kIndexBits;
  static constexpr std::uint32_t kNone = UINT32_MAX;

  struct Slot {
    PendingRequest request;
    std::uint64_t serial = 0;
    std::uint32_t generation = 0;
    std::uint32_t older = kNone;  // neighbours in order of issue; `younger` links the free list as well
    std::uint32_t younger = kNone;
    bool used = false;
  };

  std::uint32_t take_slot();
  void unlink(std::uint32_t index);

  std::uint32_t first_generation_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::uint32_t oldest_ = kNone;
  std::uint32_t youngest_ = kNone;
  std::uint64_t last_serial_ = 0;
  std::size_t size_ = 0;
};

}  // namespace openlapi
