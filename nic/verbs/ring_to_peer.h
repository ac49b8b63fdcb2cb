// The sender's end of a ring in the memory of a peer: whether there is one, whether it may be written just now, and
// what to write (ring_slots.h, ring_control.h). It belongs to a connection, and outlives the connection's queue pair or
// its stop, since the peer writes to this end's words through that.
//
// A ring is asked for after a number of packets that would have gone through it. A peer that refuses one, or has given
// it back, is asked again after more packets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "nic/verbs/registered_memory.h"
#include "nic/verbs/ring_control.h"
#include "nic/verbs/ring_slots.h"

namespace openlapi::verbs {

class RingToPeer {
 public:
  // `after`: packets before a ring is asked for; 0: never. `connection`: its number.
  void open(std::uint32_t after, std::uint64_t connection) {
    until_asking_ = again_ = after;
    connection_ = connection;
  }

  bool granted() const { return granted_; }
  // Another packet that would fit, while there is no ring. True: it is time to ask.
  bool count_packet() { return until_asking_ != 0 && --until_asking_ == 0; }

  // This end's words for the next ring, to be told to the peer. Null address: there is no memory for them.
  RingPlace next_control(ibv_pd& memory);
  std::uint8_t ring() const { return static_cast<std::uint8_t>(ring_); }  // which of the connection's
  // The answer to that. `ring`: the one that was asked for, by which late answers are known.
  void grant(const RingPlace& slots, std::uint8_t ring);
  void refuse(std::uint8_t ring);

  // Puts the packet into the image and counts it as written. False: the ring may not be written now, or not any more.
  bool compose(const OutgoingPacket& packet, SlotImage& image);
  std::uint64_t address_of(const SlotImage& image) const { return slots_.address + image.place; }
  std::uint32_t key() const { return slots_.key; }

 private:
  static constexpr unsigned kMostDoublings = 10;  // of the packets before the peer is asked again

  bool was_given_back() {
    return control().state.load(std::memory_order_acquire) == static_cast<std::uint32_t>(RingState::given_back);
  }
  void go_to_next();
  RingControl& control() { return reinterpret_cast<RingControl*>(memory_.data())[ring_]; }
  void ask_later();

  std::uint32_t until_asking_ = 0;  // packets; 0: not asked any more
  std::uint32_t again_ = 0;         // packets, after a refusal
  unsigned refusals_ = 0;
  std::uint64_t connection_ = 0;
  bool has_memory_ = false;
  bool granted_ = false;
  std::size_t ring_ = 0;  // which of kRingsOfConnection
  RingPlace slots_;
  SlotWriter writer_;
  RegisteredMemory memory_;  // RingControl of each ring
};

}  // namespace openlapi::verbs
