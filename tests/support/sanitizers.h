// Which sanitizer the tests are built for, and how often they repeat themselves then, or without optimisation.
#pragma once

// clang has other names for what g++ defines.
#ifdef __clang__
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace openlapi {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#ifdef __SANITIZE_THREAD__
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#ifdef __OPTIMIZE__
inline constexpr bool kOptimized = true;
#else
inline constexpr bool kOptimized = false;
#endif

// Sanitizers look at every access and find at the first repetition what they would find at the last: with one of them
// ten to twenty times as slow a tenth of the random cases has to do. So it has for a first look (tests/run --quick).
template <typename Number>
constexpr Number repetitions(Number count) {
  return kAddressSanitizer || kThreadSanitizer || !kOptimized ? count / 10 : count;
}

}  // namespace openlapi
