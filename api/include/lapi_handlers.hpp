// Part of lapi.hpp: functions that the library calls, made of functions or lambdas without captures. Nothing may be
// thrown through the library: a program whose handler throws ends.
#pragma once

#include "lapi_basics.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

namespace lapi {

// What a header handler is told of a message (lapi_return_info_t).
struct Arrival {
  lapi_handle_t handle;
  unsigned source;
  std::span<const std::byte> header;
  std::size_t length;     // bytes of data
  const std::byte* data;  // all of them, when they came in one packet and only until the handler returns; else nullptr
};

// What a header handler answers. Place is void for LAPI_Amsend and lapi_vec_t for LAPI_Amsendv.
template <class Place>
struct BasicDelivery {
  Place* buffer = nullptr;              // where the data goes; nullptr: nowhere
  compl_hndlr_t* completion = nullptr;  // runs when it is there
  void* argument = nullptr;             // of the completion handler
  lapi_ret_flags_t run = LAPI_NORMAL;   // how the completion handler runs
  lapi_ctl_flags_t fate = LAPI_DELIVER_MSG;
  lapi_dg_handle_t program = nullptr;  // scatters the data from `buffer` on; nullptr: it is contiguous
  std::size_t bytes = std::numeric_limits<std::size_t>::max();  // with `program`: how many at most

  // The handler has read the data itself, or does not want it.
  static constexpr BasicDelivery done() { return {.run = LAPI_LOCAL_STATE, .fate = LAPI_BURY_MSG}; }
  // The message comes again later.
  static constexpr BasicDelivery again() { return {.fate = LAPI_DROP_PKT}; }
};
using Delivery = BasicDelivery<void>;
// The vector stays until the data is there.
using VectorDelivery = BasicDelivery<lapi_vec_t>;

// A header handler made of a function that takes an Arrival and returns a Delivery (LAPI_Amsend) or a VectorDelivery
// (LAPI_Amsendv): context.collect(lapi::header_handler<take>).
template <auto Function>
inline auto header_handler(lapi_handle_t* handle, void* header, uint* header_length, ulong* message_length,
                           compl_hndlr_t** completion, void** argument)
    -> decltype(Function(std::declval<const Arrival&>()).buffer) {
  auto* info = reinterpret_cast<lapi_return_info_t*>(message_length);
  const Arrival arrival{*handle,
                        static_cast<unsigned>(info->src),
                        {static_cast<const std::byte*>(header), *header_length},
                        info->msg_len,
                        static_cast<const std::byte*>(info->udata_one_pkt_ptr)};
  const auto delivery = [&]() noexcept { return Function(arrival); }();
  info->ret_flags = delivery.run;
  info->ctl_flags = delivery.fate;
  info->dgsp_handle = delivery.program;
  info->bytes = std::min<std::size_t>(delivery.bytes, info->msg_len);
  *completion = delivery.completion;
  *argument = delivery.argument;
  return delivery.buffer;
}

// A completion handler made of a function that takes the handle and a pointer: what Delivery::argument points to.
template <auto Function>
inline void completion_handler(lapi_handle_t* handle, void* argument) {
  [&]<class T>(void (*function)(lapi_handle_t, T*)) noexcept {
    function(*handle, static_cast<T*>(argument));
  }(+Function);
}

// A send completion handler (`shdlr` of a transfer) made of a function that takes the handle, a pointer (`sinfo`) and
// what became of the message.
template <auto Function>
inline void send_handler(lapi_handle_t* handle, void* argument, lapi_sh_info_t* info) {
  [&]<class T>(void (*function)(lapi_handle_t, T*, const lapi_sh_info_t&)) noexcept {
    function(*handle, static_cast<T*>(argument), *info);
  }(+Function);
}

// What an error handler is told.
struct Fault {
  lapi_handle_t handle;
  int code;
  lapi_err_t kind;
  unsigned task;  // this one
  int source;     // the other one, or -1
};

// An error handler (`err_hndlr` of lapi_info_t) made of a function that takes a Fault.
template <auto Function>
inline void error_handler(lapi_handle_t* handle, int* code, lapi_err_t* kind, int* task, int* source) {
  [&]() noexcept { Function(Fault{*handle, *code, *kind, static_cast<unsigned>(*task), *source}); }();
}

}  // namespace lapi
