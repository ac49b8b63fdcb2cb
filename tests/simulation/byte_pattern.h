// Bytes that can be recognized: a pattern is named by a key, every 8 bytes of it differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace openlapi::simulation {

// Byte `offset` of the pattern `key`.
std::byte pattern_byte(std::uint64_t key, std::uint64_t offset);

// Writes, compares: the first byte of `bytes` is byte `offset` of the pattern.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t key, std::uint64_t offset = 0);
bool has_pattern(std::span<const std::byte> bytes, std::uint64_t key, std::uint64_t offset = 0);

// How many bytes from the beginning are as they should be.
std::size_t matching_bytes(std::span<const std::byte> bytes, std::uint64_t key, std::uint64_t offset = 0);

// A number that changes when one of the bytes does; never 0.
std::uint64_t digest(std::span<const std::byte> bytes);

}  // namespace openlapi::simulation
