// Tells the processor that this is a waiting loop, so that it does not speculate ahead with reads it must discard.
#pragma once

namespace openlapi {

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace openlapi
