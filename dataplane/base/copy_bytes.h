// Copies short pieces without a call: fixed-size moves, the last one overlapping the one before.
#pragma once

#include <cstddef>
#include <cstring>

namespace openlapi {

// Inline even where it is used often: a call costs as much as the copy.
[[gnu::always_inline]] inline void copy_bytes(std::byte* target, const std::byte* source, std::size_t length) {
  const auto move = [&]<std::size_t kBytes>(std::size_t at) {
    std::byte moved[kBytes];
    std::memcpy(moved, source + at, kBytes);
    std::memcpy(target + at, moved, kBytes);
  };
  // The shortest first: they are the ones that feel it.
  if (length <= 16) {
    if (length >= 8) {
      move.template operator()<8>(0);
      move.template operator()<8>(length - 8);
    } else if (length >= 4) {
      move.template operator()<4>(0);
      move.template operator()<4>(length - 4);
    } else {
      for (std::size_t at = 0; at < length; ++at) target[at] = source[at];
    }
  } else if (length <= 32) {
    // Headers of short messages, written word by word just before: a wider load would have to wait for those stores.
    move.template operator()<8>(0);
    move.template operator()<8>(8);
    move.template operator()<8>(length - 16);
    move.template operator()<8>(length - 8);
  } else if (length <= 64) {
    for (std::size_t at = 0; at < 32; at += 8) move.template operator()<8>(at);
    move.template operator()<16>(length - 32);
    move.template operator()<16>(length - 16);
  } else if (length <= 128) {
    for (std::size_t at = 0; at + 16 < length; at += 16) move.template operator()<16>(at);
    move.template operator()<16>(length - 16);
  } else {
    std::memmove(target, source, length);  // may overlap: a task may send to itself
  }
}

}  // namespace openlapi
