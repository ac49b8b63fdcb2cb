// Which of the addresses that other tasks name can be addresses of this task. They always have 64 bits, but a 32-bit
// task only has memory below 4 GiB. Compilers sign-extend its pointers, so that (lapi_long_t)&variable may have all
// upper bits set; such a number means the address in its lower half.
#pragma once

#include <cstddef>
#include <cstdint>

namespace openlapi {

inline constexpr bool kWordIs32Bits = sizeof(void*) == 4;

// The address without a sign extension; other addresses unchanged.
constexpr std::uint64_t without_widened_sign(std::uint64_t address) {
  return address >> 31 == 0x1ffffffff ? address & 0xffffffff : address;
}

// Whether a task with 32-bit addresses can have `length` bytes there.
constexpr bool is_32_bit_memory(std::uint64_t address, std::uint64_t length) {
  constexpr std::uint64_t kEnd = std::uint64_t{1} << 32;
  const std::uint64_t start = without_widened_sign(address);
  return start < kEnd && length <= kEnd - start;
}

// Whether this task can have that memory. With 64-bit addresses every number may be one.
constexpr bool is_own_memory(std::uint64_t address, std::uint64_t length) {
  return !kWordIs32Bits || is_32_bit_memory(address, length);
}

// A pointer as tasks tell it each other; and back, of this task.
inline std::uint64_t address_bits(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer); }
inline std::byte* pointer_to(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

}  // namespace openlapi
