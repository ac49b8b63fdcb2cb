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
// library. For tasks of one word size; mixed jobs use exchange() and transfer().
#pragma once

#include "lapi_basics.hpp"
#include "lapi_handlers.hpp"
#include "lapi_locks.hpp"
#include "lapi_programs.hpp"
#include "lapi_vectors.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace lapi {

// What another task has entered in its table (Context::register_address): registered<hdr_hndlr_t>(task, index).
template <class T>
inline Remote<T> registered(unsigned task, int index) noexcept {
  return {task, reinterpret_cast<T*>(static_cast<std::intptr_t>(index))};
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
    protocol_ = info.protocol;
    instance_ = info.instance_no;
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
      : handle_(std::exchange(other.handle_, kNone)),
        task_(other.task_),
        tasks_(other.tasks_),
        protocol_(other.protocol_),
        instance_(other.instance_) {}
  // What was here before ends, as in the destructor.
  Context& operator=(Context&& other) noexcept {
    Context moved(std::move(other));
    std::swap(handle_, moved.handle_);
    std::swap(task_, moved.task_);
    std::swap(tasks_, moved.tasks_);
    std::swap(protocol_, moved.protocol_);
    std::swap(instance_, moved.instance_);
    return *this;
  }

  // LAPI_Term; unlike the destructor it says what went wrong. Afterwards there is no handle.
  void close() { detail::check(LAPI_Term(std::exchange(handle_, kNone)), "LAPI_Term"); }

  lapi_handle_t handle() const noexcept { return handle_; }
  unsigned task() const noexcept { return task_; }    // noted by the constructor
  unsigned tasks() const noexcept { return tasks_; }  // likewise
  // What LAPI_Init has answered in lapi_info_t: what carries the messages, and which of the task's instances this is.
  lapi_dev_t protocol() const noexcept { return protocol_; }
  unsigned instance() const noexcept { return instance_; }

  // An attribute that is one number.
  int query(lapi_query_t what) const {
    int value = 0;
    detail::check(is_number(what) ? LAPI_Qenv(handle_, what, &value) : LAPI_ERR_QUERY_TYPE, "LAPI_Qenv");
    return value;
  }
  // QUERY_STATISTICS, QUERY_SHM_STATISTICS or QUERY_LOCAL_SEND_STATISTICS.
  lapi_statistics_t statistics(lapi_query_t which = QUERY_STATISTICS) const {
    lapi_statistics_t all{};
    const bool known = !is_number(which) && which != QUERY_SHM_TASKS;
    detail::check(known ? LAPI_Qenv(handle_, which, reinterpret_cast<int*>(&all)) : LAPI_ERR_QUERY_TYPE, "LAPI_Qenv");
    return all;
  }
  // QUERY_SHM_TASKS: each task's shared memory number, or -1. Allocates the answer.
  std::vector<int> shared_memory_tasks() const {
    std::vector<int> all(tasks_);
    detail::check(LAPI_Qenv(handle_, QUERY_SHM_TASKS, all.data()), "LAPI_Qenv");
    return all;
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

  // Enters an address, as of a handler, in this task's table; others name it by its index: lapi::registered.
  template <class T>
  void register_address(int index, T* address) {
    detail::check(LAPI_Addr_set(handle_, reinterpret_cast<void*>(address), index), "LAPI_Addr_set");
  }
  void* registered_address(int index) const {
    void* address = nullptr;
    detail::check(LAPI_Addr_get(handle_, &address, index), "LAPI_Addr_get");
    return address;
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

  // Data in pieces; both sides have the same number of them, of the same lengths.
  template <class T, class Here>
  requires std::is_same_v<std::remove_const_t<Here>, T>
  void put(const RemoteVector<T>& to, const Vector<Here>& from, const Signals& signals = {}) {
    detail::check(LAPI_Putv(handle_, to.task(), to.get(), from.get(), target(signals), raw(signals.origin),
                            raw(signals.completion)),
                  "LAPI_Putv");
  }
  template <class T, class There>
  requires std::is_same_v<std::remove_const_t<There>, T>
  void get(const Vector<T>& to, const RemoteVector<There>& from, const Signals& signals = {}) {
    detail::check(LAPI_Getv(handle_, from.task(), from.get(), to.get(), target(signals), raw(signals.origin)),
                  "LAPI_Getv");
  }

  // An active message.
  void send(Remote<hdr_hndlr_t> handler, std::span<const std::byte> header, std::span<const std::byte> data = {},
            const Signals& signals = {}) {
    detail::check(LAPI_Amsend(handle_, handler.task, reinterpret_cast<void*>(handler.address),
                              detail::plain(header.data()), length(header), detail::plain(data.data()), data.size(),
                              target(signals), raw(signals.origin), raw(signals.completion)),
                  "LAPI_Amsend");
  }

  template <class T>
  void send(Remote<vhdr_hndlr_t> handler, std::span<const std::byte> header, const Vector<T>& data,
            const Signals& signals = {}) {
    detail::check(
        LAPI_Amsendv(handle_, handler.task, reinterpret_cast<void*>(handler.address), detail::plain(header.data()),
                     length(header), data.get(), target(signals), raw(signals.origin), raw(signals.completion)),
        "LAPI_Amsendv");
  }

  // LAPI_Xfer of what a structure of lapi.h describes; its Xfer_type need not be set, but for a lightweight message.
  void transfer(const lapi_put_t& put) { detail::transfer(handle_, &lapi_xfer_t::Put, LAPI_PUT_XFER, put); }
  void transfer(const lapi_get_t& get) { detail::transfer(handle_, &lapi_xfer_t::Get, LAPI_GET_XFER, get); }
  void transfer(const lapi_putv_t& put) { detail::transfer(handle_, &lapi_xfer_t::Putv, LAPI_PUTV_XFER, put); }
  void transfer(const lapi_getv_t& get) { detail::transfer(handle_, &lapi_xfer_t::Getv, LAPI_GETV_XFER, get); }
  void transfer(const lapi_amv_t& message) { detail::transfer(handle_, &lapi_xfer_t::Amv, LAPI_AMV_XFER, message); }
  void transfer(const lapi_rmw_t& change) { detail::transfer(handle_, &lapi_xfer_t::Rmw, LAPI_RMW_XFER, change); }
  void transfer(const lapi_amdgsp_t& message) {
    detail::transfer(handle_, &lapi_xfer_t::Dgsp, LAPI_DGSP_XFER, message);
  }
  void transfer(const lapi_am_t& message) {
    const bool lightweight = message.Xfer_type == LAPI_AM_LW_XFER;
    detail::transfer(handle_, &lapi_xfer_t::Am, lightweight ? LAPI_AM_LW_XFER : LAPI_AM_XFER, message);
  }

  // Gathers the first `bytes` bytes of a program that is laid over `data`, into `packed` from `position` on. Returns
  // the position behind them; so does unpack.
  std::size_t pack(const Program& program, const void* data, std::size_t bytes, std::span<std::byte> packed,
                   std::size_t position = 0) {
    lapi_pack_dgsp_t command{};
    command.dgsp_handle = program.handle();
    command.in_buf = detail::plain(data);
    command.bytes = bytes;
    command.out_buf = packed.data();
    command.out_size = packed.size();
    command.position = position;
    return detail::utility(handle_, &lapi_util_t::PackDgsp, LAPI_DGSP_PACK, command).position;
  }
  // Scatters the `bytes` bytes of `packed` from `position` on.
  std::size_t unpack(const Program& program, void* data, std::size_t bytes, std::span<const std::byte> packed,
                     std::size_t position = 0) {
    lapi_unpack_dgsp_t command{};
    command.dgsp_handle = program.handle();
    command.buf = detail::plain(packed.data());
    command.in_size = packed.size();
    command.out_buf = data;
    command.bytes = command.out_size = bytes;
    command.position = position;
    return detail::utility(handle_, &lapi_util_t::UnpackDgsp, LAPI_DGSP_UNPACK, command).position;
  }
  // The function for CONTROL of programs; nullptr: none.
  void distribute_with(ddm_func_t* function) {
    lapi_reg_ddm_t command{};
    command.ddm_func = function;
    detail::utility(handle_, &lapi_util_t::DdmFunc, LAPI_REG_DDM_FUNC, command);
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
  // Blocking: what the variable was. In a handler that may not wait nothing is under way when this throws.
  template <class T>
  T fetch_add(Remote<T> variable, std::type_identity_t<T> value) {
    T previous{};
    Counter done;
    wait(done, 0);
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
  // The same without spinning; a purge ends it.
  int wait_without_polling(Counter& counter, int value = 1) {
    int rest = 0;
    detail::check(LAPI_Nopoll_wait(handle_, counter.get(), value, &rest), "LAPI_Nopoll_wait");
    return rest;
  }
  int value(Counter& counter) const {
    int now = 0;
    detail::check(LAPI_Getcntr(handle_, counter.get(), &now), "LAPI_Getcntr");
    return now;
  }
  void set(Counter& counter, int value) { detail::check(LAPI_Setcntr(handle_, counter.get(), value), "LAPI_Setcntr"); }

  // Sets a counter to 0 and names the tasks that are to move it; their statuses, LAPI_MSG_x, are kept from now on, and
  // so long all three stay where they are.
  void expect(Counter& counter, std::span<unsigned> tasks, std::span<int> statuses) {
    const bool room = statuses.size() >= tasks.size();
    detail::check(room ? LAPI_Setcntr_wstatus(handle_, counter.get(), static_cast<int>(tasks.size()), tasks.data(),
                                              statuses.data())
                       : EINVAL,
                  "LAPI_Setcntr_wstatus");
  }

  // Recovery: gives up what is under way to and from a task, and begins anew.
  void purge(unsigned task) { detail::check(LAPI_Purge_totask(handle_, task), "LAPI_Purge_totask"); }
  void resume(unsigned task) { detail::check(LAPI_Resume_totask(handle_, task), "LAPI_Resume_totask"); }
  // Between the two: where the task is now, over UDP and without a launcher.
  void set_udp_address(unsigned task, lapi_udp_t address, unsigned adapter = 0) {
    lapi_add_udp_port_t command{};
    command.tgt = task;
    command.udp_port = &address;
    command.instance_no = adapter;
    detail::utility(handle_, &lapi_util_t::Udp, LAPI_ADD_UDP_DEST_PORT, command);
  }

  // The context's lock.
  Mutex mutex() const { return Mutex(handle_); }

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
  // LAPI_Qenv writes one number, or leaves it alone.
  static constexpr bool is_number(lapi_query_t what) noexcept {
    return what != QUERY_SHM_TASKS && what != QUERY_STATISTICS && what != QUERY_SHM_STATISTICS &&
           what != QUERY_LOCAL_SEND_STATISTICS;
  }
  static lapi_cntr_t* raw(Counter* counter) noexcept { return counter == nullptr ? nullptr : counter->get(); }
  // LAPI takes 32 bits, and refuses a header long before; without its upper bits a longer one could look short.
  static uint length(std::span<const std::byte> header) noexcept {
    return static_cast<uint>(std::min(header.size(), std::size_t{std::numeric_limits<uint>::max()}));
  }
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
  lapi_dev_t protocol_ = LAPI_DEV_NONE;
  unsigned instance_ = 0;
};

}  // namespace lapi
