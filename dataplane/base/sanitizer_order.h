// For programs that are built with the thread sanitizer while this library is not: the sanitizer does not see our
// atomic operations, so it is told what they order. Without the sanitizer this costs one look at a null pointer.
#pragma once

// The sanitizer's own (sanitizer/tsan_interface.h); null without it.
extern "C" {
[[gnu::weak]] void __tsan_acquire(void* address);
[[gnu::weak]] void __tsan_release(void* address);
}

namespace openlapi {

// What the calling thread does from here on happens after everything before tell_release() with the same address.
[[gnu::always_inline]] inline void tell_acquire(const void* address) {
  if (&__tsan_acquire != nullptr) [[unlikely]]
    __tsan_acquire(const_cast<void*>(address));
}

// Call it right before the operation that lets other threads go on.
[[gnu::always_inline]] inline void tell_release(const void* address) {
  if (&__tsan_release != nullptr) [[unlikely]]
    __tsan_release(const_cast<void*>(address));
}

}  // namespace openlapi
