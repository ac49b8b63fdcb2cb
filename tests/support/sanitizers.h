// Which sanitizer the tests are built for, and how often they repeat themselves then.
#pragma once

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

// Sanitizers look at every access and find at the first repetition what they would find at the last: with one of them
// ten to twenty times as slow a tenth of the random cases has to do.
template <typename Number>
constexpr Number repetitions(Number count) {
  return kAddressSanitizer || kThreadSanitizer ? count / 10 : count;
}

}  // namespace openlapi
