// Part of lapi.hpp: errors, counters, and what is in the memory of another task.
#pragma once

#if __cplusplus < 202002L
#error "lapi.hpp needs C++20 (-std=c++20); lapi.h is for all of C++"
#endif

#include "lapi.h"

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace lapi {

// A call's return code, with the library's text for it.
class Error : public std::runtime_error {
 public:
  Error(const char* call, int code) : std::runtime_error(text(call, code)), code_(code) {}
  int code() const noexcept { return code_; }

 private:
  static std::string text(const char* call, int code) {
    char message[LAPI_MAX_ERR_STRING] = {};
    LAPI_Msg_string(code, message);
    return std::string(call) + " returned " + std::to_string(code) + ": " + message;
  }

  int code_;
};

namespace detail {

[[noreturn, gnu::cold]] inline void raise(const char* call, int code) { throw Error(call, code); }

inline void check(int code, const char* call) {
  if (code != LAPI_SUCCESS) [[unlikely]]
    raise(call, code);
}

template <class T>
inline void* plain(const T* address) noexcept {
  return const_cast<void*>(static_cast<const void*>(address));
}

// LAPI_Util and LAPI_Xfer get a union that says which of its members is meant.
template <class Command>
inline Command utility(lapi_handle_t handle, Command lapi_util_t::*member, lapi_util_type_t type, Command command) {
  lapi_util_t whole;
  whole.*member = command;
  whole.Util_type = type;
  check(LAPI_Util(handle, &whole), "LAPI_Util");
  return whole.*member;
}
template <class Transfer>
inline void transfer(lapi_handle_t handle, Transfer lapi_xfer_t::*member, lapi_xfer_type_t type, Transfer described) {
  lapi_xfer_t whole;
  whole.*member = described;
  whole.Xfer_type = type;
  check(LAPI_Xfer(handle, &whole), "LAPI_Xfer");
}

}  // namespace detail

// Something of another task: its address there. Only calls may follow it.
template <class T>
struct Remote {
  unsigned task = 0;
  T* address = nullptr;

  Remote operator+(std::ptrdiff_t elements) const noexcept { return {task, address + elements}; }

  // As the structures of lapi.h have it.
  lapi_long_t number() const noexcept { return reinterpret_cast<std::uintptr_t>(address); }

  // A member of the object there.
  template <class Member, class Class>
  Remote<Member> member(Member Class::*which) const noexcept {
    return {task, &(address->*which)};
  }
};

// A counter of this task. It starts at 0, and stays where it is: other tasks may know its address.
class Counter {
 public:
  Counter() noexcept = default;
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  lapi_cntr_t* get() noexcept { return &counter_; }

 private:
  lapi_cntr_t counter_{};
};
static_assert(std::is_standard_layout_v<Counter> && sizeof(Counter) == sizeof(lapi_cntr_t));

// The counters that an operation moves; each may be left out.
struct Signals {
  Remote<Counter> target{};       // in the target's task: the data is in place, or may be changed (get)
  Counter* origin = nullptr;      // here: the buffers may be changed, or the answer is here (get)
  Counter* completion = nullptr;  // here: after the target counter
};

}  // namespace lapi
