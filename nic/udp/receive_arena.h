// The memory that arriving datagrams are read into: a byte ring of which each read takes only what arrived. Packets
// stay where they were read until they are released, oldest first.
//
// A read needs kReadRoom contiguous bytes, because the length is not known beforehand; while they are not free nothing
// is read. When everything is released the ring starts again at its first byte, so that a quiet connection keeps using
// the same few cache lines.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/check.h"

namespace openlapi::udp {

class ReceiveArena {
 public:
  static constexpr std::size_t kReadRoom = 64 * 1024;  // bytes; a datagram, or what the kernel coalesces, fits
  static constexpr std::size_t kSize = 8 * kReadRoom;  // bytes; pages that are never read into cost nothing
  static constexpr std::size_t kMaxChunks = 1024;      // reads that can hold packets at a time

  ReceiveArena() : memory_(std::make_unique_for_overwrite<std::byte[]>(kSize + kLine)) {
    const std::size_t misaligned = reinterpret_cast<std::uintptr_t>(memory_.get()) % kLine;
    base_ = memory_.get() + (kLine - misaligned) % kLine;
  }

  // Where the next kReadRoom bytes can be read to; null: no room. Call only when everything has been parsed.
  std::byte* room() {
    if (chunk_count_ == 0) head_ = 0;
    if (chunk_count_ == kMaxChunks) return nullptr;
    const std::size_t tail = chunk_count_ == 0 ? 0 : oldest().begin;
    if (chunk_count_ == 0 || head_ > tail) {
      if (kSize - head_ >= kReadRoom) return base_ + head_;
      if (tail <= kReadRoom) return nullptr;
      head_ = 0;
      return base_;
    }
    return tail - head_ > kReadRoom ? base_ + head_ : nullptr;
  }

  // `length` bytes (1 or more) were read to room(); they wait to be parsed.
  void commit(std::size_t length) {
    Chunk& chunk = chunks_[(first_chunk_ + chunk_count_) % kMaxChunks];
    chunk = {static_cast<std::uint32_t>(head_), 0};
    ++chunk_count_;
    unparsed_ = {base_ + head_, length};
    head_ += (length + kLine - 1) / kLine * kLine;
  }

  // The bytes of the newest read that are not parsed yet; the caller removes them from the front.
  std::span<std::byte>& unparsed() { return unparsed_; }
  bool has_unparsed() const { return !unparsed_.empty(); }

  // A packet of the newest read was handed out.
  void hold() { ++newest().packets; }

  // Called when unparsed() has become empty, or to skip the rest of it. A read of which no packet is held gives its
  // room back at once, whatever is held of earlier ones.
  void end_parsing() {
    unparsed_ = {};
    if (newest().packets != 0) return;
    head_ = newest().begin;
    --chunk_count_;
  }

  // Releases the oldest `count` packets that were handed out.
  void release(std::size_t count) {
    while (count > 0) {
      OPENLAPI_CHECK(chunk_count_ > 0);
      Chunk& chunk = oldest();
      const std::size_t part = count < chunk.packets ? count : chunk.packets;
      OPENLAPI_CHECK(part > 0);
      chunk.packets -= static_cast<std::uint32_t>(part);
      count -= part;
      const bool being_parsed = chunk_count_ == 1 && has_unparsed();
      if (chunk.packets == 0 && !being_parsed) {
        first_chunk_ = (first_chunk_ + 1) % kMaxChunks;
        --chunk_count_;
      }
    }
  }

 private:
  static constexpr std::size_t kLine = 64;

  struct Chunk {
    std::uint32_t begin;    // offset of its first byte
    std::uint32_t packets;  // handed out and not yet released
  };

  Chunk& oldest() { return chunks_[first_chunk_]; }
  Chunk& newest() { return chunks_[(first_chunk_ + chunk_count_ - 1) % kMaxChunks]; }

  std::unique_ptr<std::byte[]> memory_;
  std::byte* base_;
  std::size_t head_ = 0;  // offset where the next read goes
  std::span<std::byte> unparsed_;
  std::size_t first_chunk_ = 0;
  std::size_t chunk_count_ = 0;
  std::array<Chunk, kMaxChunks> chunks_;
};

}  // namespace openlapi::udp
