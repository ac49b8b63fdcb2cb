// LAPI for C++20: a thin face over lapi.h, header-only. Every member function is inline and comes down to the one LAPI_
// call that it is named after, with the arguments in another order; nothing is allocated or kept beside the handle
// unless a comment says so. What the calls do, when they block and who may make them is said in lapi.h.
//
//   lapi::Context context;
//   double inbox[8] = {};
//   lapi::Counter arrived;
//   auto inboxes = context.collect(inbox);
//   auto arrivals = context.collect(&arrived);
//   context.put(inboxes[right], std::span(values), {.target = arrivals[right]});
//   context.wait(arrived);
//
// A call that fails throws lapi::Error, so handlers that call it have to catch: nothing may be thrown through the
// library. For tasks of one word size; mixed jobs use LAPI_Address_init64 and LAPI_Xfer.
#pragma once

#if __cplusplus < 202002L
#error "lapi.hpp needs C++20 (-std=c++20); lapi.h is for all of C++"
#endif

#include "lapi.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

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

}  // namespace detail

// Something of another task: its address there. Only calls may follow it.
template <class T>
struct Remote {
  unsigned task = 0;
  T* address = nullptr;

  Remote operator+(std::ptrdiff_t elements) const noexcept { return {task, address + elements}; }

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

// What a header handler is told of a message (lapi_return_info_t).
struct Arrival {
  lapi_handle_t handle;
  unsigned source;
  std::span<const std::byte> header;
  std::size_t length;     // bytes of data
  const std::byte* data;  // all of them, when they came in one packet and only until the handler returns; else nullptr
};

// What a header handler answers.
struct Delivery {
  void* buffer = nullptr;               // where the data goes; nullptr: nowhere
  compl_hndlr_t* completion = nullptr;  // runs when it is there
  void* argument = nullptr;             // of the completion handler
  lapi_ret_flags_t run = LAPI_NORMAL;   // how the completion handler runs
  lapi_ctl_flags_t fate = LAPI_DELIVER_MSG;

  // The handler has read the data itself, or does not want it.
  static constexpr Delivery done() { return {.run = LAPI_LOCAL_STATE, .fate = LAPI_BURY_MSG}; }
  // The message comes again later.
  static constexpr Delivery again() { return {.fate = LAPI_DROP_PKT}; }
};

// A header handler for LAPI_Amsend made of a function or a lambda without captures that takes an Arrival and returns a
// Delivery; it ends the program if it throws: context.collect(lapi::header_handler<take>).
template <auto Function>
inline void* header_handler(lapi_handle_t* handle, void* header, uint* header_length, ulong* message_length,
                            compl_hndlr_t** completion, void** argument) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(message_length);
  const Arrival arrival{*handle,
                        static_cast<unsigned>(info->src),
                        {static_cast<const std::byte*>(header), *header_length},
                        info->msg_len,
                        static_cast<const std::byte*>(info->udata_one_pkt_ptr)};
  const Delivery delivery = [&]() noexcept { return Function(arrival); }();  // nothing is thrown through the library
  info->ret_flags = delivery.run;
  info->ctl_flags = delivery.fate;
  *completion = delivery.completion;
  *argument = delivery.argument;
  return delivery.buffer;
}

// A LAPI handle: LAPI_Init when it is made, LAPI_Term when it goes. Like the handle it may be used by several threads.
class Context {
 public:
  // What LAPI_Init is told when nothing else is: the caller's version of lapi.h, all else at its default.
  static lapi_info_t defaults() noexcept {
    lapi_info_t info;
    std::memset(&info, 0, sizeof info);
    info.lib_vers = LAST_LIB;
    return info;
  }

  Context() : Context(defaults()) {}
  explicit Context(lapi_info_t info) {
    detail::check(LAPI_Init(&handle_, &info), "LAPI_Init");
    try {
      task_ = static_cast<unsigned>(query(TASK_ID));
      tasks_ = static_cast<unsigned>(query(NUM_TASKS));
    } catch (...) {
      LAPI_Term(handle_);
      throw;
    }
  }
  ~Context() {
    if (handle_ != kNone) LAPI_Term(handle_);
  }
  // Who was moved from has no handle: every call on it throws LAPI_ERR_HNDL_INVALID.
  Context(Context&& other) noexcept
      : handle_(std::exchange(other.handle_, kNone)), task_(other.task_), tasks_(other.tasks_) {}
  // What was here before ends, as in the destructor.
  Context& operator=(Context&& other) noexcept {
    Context moved(std::move(other));
    std::swap(handle_, moved.handle_);
    std::swap(task_, moved.task_);
    std::swap(tasks_, moved.tasks_);
    return *this;
  }

  // LAPI_Term; unlike the destructor it says what went wrong. Afterwards there is no handle.
  void close() { detail::check(LAPI_Term(std::exchange(handle_, kNone)), "LAPI_Term"); }

  lapi_handle_t handle() const noexcept { return handle_; }
  unsigned task() const noexcept { return task_; }    // noted by the constructor
  unsigned tasks() const noexcept { return tasks_; }  // likewise

  int query(lapi_query_t what) const {
    int value = 0;
    detail::check(LAPI_Qenv(handle_, what, &value), "LAPI_Qenv");
    return value;
  }
  void set(lapi_query_t what, int value) { detail::check(LAPI_Senv(handle_, what, value), "LAPI_Senv"); }

  // Every task's number, by task. Collective, blocking; allocates the answer, as collect() does.
  std::vector<lapi_long_t> exchange(lapi_long_t mine) {
    std::vector<lapi_long_t> all(tasks_);
    detail::check(LAPI_Address_init64(handle_, mine, all.data()), "LAPI_Address_init64");
    return all;
  }

  // Every task's address of the same thing, by task: an object, an array's beginning or a handler.
  template <class T>
  std::vector<Remote<T>> collect(T* mine) {
    const std::vector<lapi_long_t> addresses = exchange(reinterpret_cast<std::uintptr_t>(mine));
    std::vector<Remote<T>> all(tasks_);
    for (unsigned i = 0; i < tasks_; ++i) {
      all[i] = {i, reinterpret_cast<T*>(static_cast<std::uintptr_t>(addresses[i]))};
    }
    return all;
  }

  template <class T>
  void put(Remote<T> to, std::span<const std::type_identity_t<T>> from, const Signals& signals = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    detail::check(LAPI_Put(handle_, to.task, from.size_bytes(), detail::plain(to.address), detail::plain(from.data()),
                           target(signals), raw(signals.origin), raw(signals.completion)),
                  "LAPI_Put");
  }
  template <class T>
  void put(Remote<T> to, const std::type_identity_t<T>& value, const Signals& signals = {}) {
    put(to, std::span<const T>(&value, 1), signals);
  }

  // No completion counter: that the answer is here says the same.
  template <class T>
  void get(std::span<std::remove_const_t<T>> to, Remote<T> from, const Signals& signals = {}) {
    static_assert(std::is_trivially_copyable_v<T>);
    detail::check(LAPI_Get(handle_, from.task, to.size_bytes(), detail::plain(from.address), to.data(), target(signals),
                           raw(signals.origin)),
                  "LAPI_Get");
  }

  // An active message.
  void send(Remote<hdr_hndlr_t> handler, std::span<const std::byte> header, std::span<const std::byte> data = {},
            const Signals& signals = {}) {
    detail::check(
        LAPI_Amsend(handle_, handler.task, reinterpret_cast<void*>(handler.address), detail::plain(header.data()),
                    static_cast<uint>(header.size()), detail::plain(data.data()), data.size(), target(signals),
                    raw(signals.origin), raw(signals.completion)),
        "LAPI_Amsend");
  }

  // Read-modify-writes of a 32- or 64-bit integer. `previous` (may be nullptr) is there when `done` has moved.
  template <class T>
  void fetch_add(Remote<T> variable, std::type_identity_t<T> value, std::type_identity_t<T>* previous, Counter* done) {
    modify(FETCH_AND_ADD, variable, {value}, previous, done);
  }
  template <class T>
  void fetch_or(Remote<T> variable, std::type_identity_t<T> bits, std::type_identity_t<T>* previous, Counter* done) {
    modify(FETCH_AND_OR, variable, {bits}, previous, done);
  }
  template <class T>
  void swap(Remote<T> variable, std::type_identity_t<T> value, std::type_identity_t<T>* previous, Counter* done) {
    modify(SWAP, variable, {value}, previous, done);
  }
  // `swapped`: not 0 if the variable was `expected`, and is `desired` now.
  template <class T>
  void compare_and_swap(Remote<T> variable, std::type_identity_t<T> expected, std::type_identity_t<T> desired,
                        std::type_identity_t<T>* swapped, Counter* done) {
    modify(COMPARE_AND_SWAP, variable, {expected, desired}, swapped, done);
  }
  // Blocking: what the variable was.
  template <class T>
  T fetch_add(Remote<T> variable, std::type_identity_t<T> value) {
    T previous{};
    Counter done;
    fetch_add(variable, value, &previous, &done);
    wait(done);
    return previous;
  }

  // Until the counter has reached the value, which is then taken off it. Returns what is left.
  int wait(Counter& counter, int value = 1) {
    int rest = 0;
    detail::check(LAPI_Waitcntr(handle_, counter.get(), value, &rest), "LAPI_Waitcntr");
    return rest;
  }
  int value(Counter& counter) const {
    int now = 0;
    detail::check(LAPI_Getcntr(handle_, counter.get(), &now), "LAPI_Getcntr");
    return now;
  }
  void set(Counter& counter, int value) { detail::check(LAPI_Setcntr(handle_, counter.get(), value), "LAPI_Setcntr"); }

  void probe() { detail::check(LAPI_Probe(handle_), "LAPI_Probe"); }
  // Bits of lapi_msg_state_t.
  lapi_msg_state_t poll(unsigned rounds) {
    lapi_msg_info_t info{};
    detail::check(LAPI_Msgpoll(handle_, rounds, &info), "LAPI_Msgpoll");
    return info.status;
  }
  void fence() { detail::check(LAPI_Fence(handle_), "LAPI_Fence"); }
  void fence_all() { detail::check(LAPI_Gfence(handle_), "LAPI_Gfence"); }

 private:
  static lapi_cntr_t* raw(Counter* counter) noexcept { return counter == nullptr ? nullptr : counter->get(); }
  // An address in another task: converted, never followed.
  static lapi_cntr_t* target(const Signals& signals) noexcept {
    return reinterpret_cast<lapi_cntr_t*>(signals.target.address);
  }

  // The library takes int and long long; T may be another type of the same width.
  template <class T, std::size_t kCount>
  void modify(RMW_ops_t operation, Remote<T> variable, const T (&operands)[kCount], T* previous, Counter* done) {
    static_assert(std::is_integral_v<T> && (sizeof(T) == sizeof(int) || sizeof(T) == sizeof(long long)));
    using Word = std::conditional_t<sizeof(T) == sizeof(int), int, long long>;
    Word words[kCount];
    std::memcpy(words, operands, sizeof words);
    auto* there = static_cast<Word*>(detail::plain(variable.address));
    auto* answer = static_cast<Word*>(detail::plain(previous));
    if constexpr (sizeof(T) == sizeof(int)) {
      detail::check(LAPI_Rmw(handle_, operation, variable.task, there, words, answer, raw(done)), "LAPI_Rmw");
    } else {
      detail::check(LAPI_Rmw64(handle_, operation, variable.task, there, words, answer, raw(done)), "LAPI_Rmw64");
    }
  }

  static constexpr auto kNone = static_cast<lapi_handle_t>(-1);

  lapi_handle_t handle_ = kNone;
  unsigned task_ = 0;
  unsigned tasks_ = 0;
};

}  // namespace lapi
