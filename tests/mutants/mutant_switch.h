// Mistakes of which one at most is on, by its number: what switched_source.py makes of a source calls these. Included
// before everything else (-include); a number that was asked for is remembered.
#pragma once
#if __cplusplus >= 202002L  // and not where meson asks what the compiler can do

#include <concepts>
#include <type_traits>

namespace mutants {

inline constexpr int kMost = 1 << 15;
inline unsigned char at_first[kMost];
inline unsigned char* reached = at_first;
inline int chosen = 0;

inline bool is_chosen(int number) {
  reached[number] = 1;
  return chosen == number;
}

// The compiler sees no mistake in its own calculations.
constexpr bool on(int number) { return !std::is_constant_evaluated() && is_chosen(number); }

template <class Left, class Right>
constexpr bool less(int number, const Left& left, const Right& right) {
  return on(number) ? left <= right : left < right;
}
template <class Left, class Right>
constexpr bool less_equal(int number, const Left& left, const Right& right) {
  return on(number) ? left < right : left <= right;
}
template <class Left, class Right>
constexpr bool greater(int number, const Left& left, const Right& right) {
  return on(number) ? left >= right : left > right;
}
template <class Left, class Right>
constexpr bool greater_equal(int number, const Left& left, const Right& right) {
  return on(number) ? left > right : left >= right;
}
template <class Left, class Right>
constexpr bool equal(int number, const Left& left, const Right& right) {
  return on(number) ? left != right : left == right;
}
template <class Left, class Right>
constexpr bool not_equal(int number, const Left& left, const Right& right) {
  return on(number) ? left == right : left != right;
}

template <class Left, class Right>
requires requires(const Left& left, const Right& right) { static_cast<decltype(left + right)>(left - right); }
constexpr auto plus(int number, const Left& left, const Right& right) {
  return on(number) ? static_cast<decltype(left + right)>(left - right) : left + right;
}
template <class Left, class Right>
requires requires(const Left& left, const Right& right) { static_cast<decltype(left - right)>(left + right); }
constexpr auto minus(int number, const Left& left, const Right& right) {
  return on(number) ? static_cast<decltype(left - right)>(left + right) : left - right;
}

template <class To, class What>
requires requires(To& to, const What& what) { to -= what; }
constexpr To& add_to(int number, To& to, const What& what) {
  on(number) ? to -= what : to += what;
  return to;
}
template <class To, class What>
requires requires(To& to, const What& what) { to += what; }
constexpr To& take_from(int number, To& to, const What& what) {
  on(number) ? to += what : to -= what;
  return to;
}

template <class Counter>
requires requires(Counter& counter) { --counter; }
constexpr decltype(auto) increment(int number, Counter& counter) { return on(number) ? --counter : ++counter; }
template <class Counter>
requires requires(Counter& counter) { ++counter; }
constexpr decltype(auto) decrement(int number, Counter& counter) { return on(number) ? ++counter : --counter; }
template <class Counter>
requires requires(Counter& counter) { counter--; }
constexpr auto increment_after(int number, Counter& counter) { return on(number) ? counter-- : counter++; }
template <class Counter>
requires requires(Counter& counter) { counter++; }
constexpr auto decrement_after(int number, Counter& counter) { return on(number) ? counter++ : counter--; }

}  // namespace mutants
#endif
