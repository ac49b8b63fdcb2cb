// Slots of a ring in memory: what a sender writes into a receiver's memory by RDMA WRITE, and where in a slot it lies.
//
// A slot has 128 bytes and takes one packet, which lies at its end, so that one short write brings packet and trailer:
//
//   ... | packet, at an 8-byte boundary | zeroes, up to 7 | length 4 | check 4 | sequence 8 |
//
// The sequence word comes last. It is the ring's epoch (32 bits, never 0) above the packet's number in the ring (32
// bits), so what an earlier lap or another ring has left is never the packet that is awaited, nor is memory of zeroes.
// The bytes of a write may come in any order, and even an adapter that places them in order may have been told to let
// them pass each other on PCI Express (README.md), which nothing says. So `check` is a hash of packet, length and
// sequence: a slot that is only partly there is left for the next look. Nothing here knows of adapters: numbers and
// bytes only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/transport/packet.h"

namespace openlapi::verbs {

inline constexpr std::uint32_t kRingSlots = 32;
inline constexpr std::size_t kRingSlotBytes = 128;
inline constexpr std::size_t kRingTrailerBytes = 16;
inline constexpr std::uint32_t kLongestInRing = kRingSlotBytes - kRingTrailerBytes;  // bytes of a packet
inline constexpr std::size_t kRingBytes = kRingSlots * kRingSlotBytes;

// Of the ring behind this connection whose sender has its words at this address: another one each time, and
// never 0.
constexpr std::uint32_t ring_epoch(std::uint64_t connection, std::uint64_t control) {
  return static_cast<std::uint32_t>(connection ^ control * 0x9e3779b1u) | 1;
}

// Of a packet in its slot, with the trailer.
constexpr std::size_t slot_length(std::size_t packet) { return (packet + 7) / 8 * 8 + kRingTrailerBytes; }

// What to write, and where in the ring.
struct SlotImage {
  alignas(8) std::array<std::byte, kRingSlotBytes> bytes;
  std::size_t begin = 0;    // of what is to be written, in the slot and in `bytes`; to the slot's end
  std::uint64_t place = 0;  // of that in the ring, bytes
  std::size_t length() const { return kRingSlotBytes - begin; }
};

// The sender's side.
class SlotWriter {
 public:
  SlotWriter() = default;
  explicit SlotWriter(std::uint32_t epoch) : epoch_(epoch) {}

  // Whether a slot is free when the receiver has taken so many packets (the lower 32 bits).
  bool has_room(std::uint32_t taken) const { return static_cast<std::uint32_t>(written_) - taken < kRingSlots; }
  std::uint64_t written() const { return written_; }

  // Of the next packet, at most kLongestInRing bytes. It counts as written after next().
  void compose(const OutgoingPacket& packet, SlotImage& image) const;
  void next() { ++written_; }

 private:
  std::uint32_t epoch_ = 1;
  std::uint64_t written_ = 0;  // packets
};

// The receiver's side.
class SlotReader {
 public:
  SlotReader() = default;
  SlotReader(const std::byte* ring, std::uint32_t epoch) : ring_(ring), epoch_(epoch) {}

  std::uint64_t taken() const { return taken_; }  // packets

  // Whether the next packet may be there: its sequence word is.
  bool shows() const { return sequence() == awaited(); }

  // Copies the next packet to `out`, of kLongestInRing bytes, 8-byte aligned, and returns its length; it counts as
  // taken then. kNothing: it is not there, or not yet whole.
  static constexpr std::uint32_t kNothing = UINT32_MAX;
  std::uint32_t take(std::byte* out);

 private:
  const std::byte* slot() const { return ring_ + taken_ % kRingSlots * kRingSlotBytes; }
  std::uint64_t sequence() const;
  std::uint64_t awaited() const;

  const std::byte* ring_ = nullptr;
  std::uint32_t epoch_ = 1;
  std::uint64_t taken_ = 0;
};

}  // namespace openlapi::verbs
