#include "dataplane/reliability/packet_pool.h"

#include <algorithm>

#include "dataplane/tuning.h"

namespace openlapi {

namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kFewestBuffers = 64;

std::size_t align_buffer(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

PacketPool::PacketPool(std::size_t buffer_bytes, std::size_t most_buffers)
    : buffer_bytes_(align_buffer(std::max(buffer_bytes, kAlignment))),
      most_buffers_(most_buffers),
      send_reserve_(most_buffers / tuning::kPoolSendReserve) {}

std::size_t PacketPool::buffers_for(std::size_t packet_bytes) {
  return std::max(tuning::kPoolMostBytes / align_buffer(std::max(packet_bytes, kAlignment)), kFewestBuffers);
}

void PacketPool::SlabDeleter::operator()(std::byte* slab) const {
  ::operator delete (slab, std::align_val_t{kAlignment});
}

bool PacketPool::grow(std::size_t most_buffers) {
  const std::size_t wanted = std::max<std::size_t>(tuning::kPoolSlabBytes / buffer_bytes_, 1);
  const std::size_t count = std::min(wanted, most_buffers > made_ ? most_buffers - made_ : 0);
  if (count == 0) return false;
  auto* slab =
      static_cast<std::byte*>(::operator new (count* buffer_bytes_, std::align_val_t{kAlignment}, std::nothrow));
  if (slab == nullptr) return false;
  slabs_.emplace_back(slab);
  for (std::size_t index = count; index > 0; --index) {
    free_ = new (slab + (index - 1) * buffer_bytes_) FreeBuffer{free_};
  }
  made_ += count;
  return true;
}

}  // namespace openlapi
