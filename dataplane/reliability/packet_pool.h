// Packet buffers of one size, 64-byte aligned, shared by all channels of an endpoint. When buffers run out more memory
// is taken from the heap in slabs (cold) and kept; otherwise take() and give_back() cost a few instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

namespace openlapi {

class PacketPool {
 public:
  // `buffer_bytes` is rounded up to a multiple of 64. There are never more than `most_buffers`, except by take_first().
  PacketPool(std::size_t buffer_bytes, std::size_t most_buffers);
  PacketPool(const PacketPool&) = delete;
  PacketPool& operator=(const PacketPool&) = delete;

  // As many buffers as tuning.h allows for packets of this size, at least 64.
  static std::size_t buffers_for(std::size_t packet_bytes);

  // A buffer to build a packet in, with undefined content; null: all are in use. The caller passes it to a channel or
  // back to the pool.
  std::byte* take() {
    if (free_ == nullptr) [[unlikely]] {
      if (!grow(most_buffers_)) return nullptr;
    }
    FreeBuffer* buffer = free_;
    free_ = buffer->next;
    ++in_use_;
    return reinterpret_cast<std::byte*>(buffer);
  }

  // A channel's only buffer: granted even when all are in use, so that channels that keep theirs never block another
  // one.
  [[gnu::always_inline]] std::byte* take_first() {
    if (free_ == nullptr && made_ >= most_buffers_ && !grow(made_ + 1)) return nullptr;
    return take();
  }

  // A buffer for a packet that arrived early; null as soon as only the part reserved for sending is left.
  std::byte* take_for_holding() { return in_use_ + send_reserve_ < most_buffers_ ? take() : nullptr; }

  void give_back(std::byte* buffer) {
    free_ = new (buffer) FreeBuffer{free_};
    --in_use_;
  }

  std::size_t buffer_bytes() const { return buffer_bytes_; }
  std::size_t in_use() const { return in_use_; }
  std::size_t capacity() const { return most_buffers_; }

 private:
  struct FreeBuffer {
    FreeBuffer* next;
  };
  struct SlabDeleter {
    void operator()(std::byte* slab) const;
  };

  [[gnu::noinline]] bool grow(std::size_t most_buffers);

  std::size_t buffer_bytes_;
  std::size_t most_buffers_;
  std::size_t send_reserve_;
  FreeBuffer* free_ = nullptr;
  std::size_t in_use_ = 0;
  std::size_t made_ = 0;
  std::vector<std::unique_ptr<std::byte, SlabDeleter>> slabs_;
};

}  // namespace openlapi
