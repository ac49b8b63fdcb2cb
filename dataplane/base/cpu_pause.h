// Tells the processor that this is a waiting loop: it then does not run ahead with looks that must be thrown away.
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
