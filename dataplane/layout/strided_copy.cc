#include "dataplane/layout/strided_copy.h"

#include <cstring>

#include "dataplane/base/copy_bytes.h"

namespace openlapi {

namespace {

std::byte* moved(std::byte* address, std::uint64_t distance) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(address) +
                                      static_cast<std::uintptr_t>(distance));
}
const std::byte* moved(const std::byte* address, std::uint64_t distance) {
  return moved(const_cast<std::byte*>(address), distance);
}

// A length that the compiler knows needs neither a call nor a loop.
template <std::size_t kBytes>
void copy_known(std::byte* to, std::uint64_t to_stride, const std::byte* from, std::uint64_t from_stride,
                std::uint64_t count) {
  for (; count > 0; --count) {
    std::memcpy(to, from, kBytes);
    to = moved(to, to_stride);
    from = moved(from, from_stride);
  }
}

}  // namespace

void copy_strided(std::byte* to, std::uint64_t to_stride, const std::byte* from, std::uint64_t from_stride,
                  std::size_t bytes, std::uint64_t count) {
  switch (bytes) {
    case 1:
      return copy_known<1>(to, to_stride, from, from_stride, count);
    case 2:
      return copy_known<2>(to, to_stride, from, from_stride, count);
    case 4:
      return copy_known<4>(to, to_stride, from, from_stride, count);
    case 8:
      return copy_known<8>(to, to_stride, from, from_stride, count);
    case 16:
      return copy_known<16>(to, to_stride, from, from_stride, count);
    case 32:
      return copy_known<32>(to, to_stride, from, from_stride, count);
    case 64:
      return copy_known<64>(to, to_stride, from, from_stride, count);
    default:
      break;
  }
  for (; count > 0; --count) {
    copy_bytes(to, from, bytes);
    to = moved(to, to_stride);
    from = moved(from, from_stride);
  }
}

}  // namespace openlapi
