// An operation that begins later than the call that asked for it. What its caller may change after the call is copied,
// as the engine does for an operation that begins at once. Long data stays where it is until the origin counter moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "api/context/context.h"
#include "api/context/guest_calls.h"

namespace openlapi {

// The memory for the copied parts of a request.
struct KeptParts {
  std::unique_ptr<std::byte[]> header, data;
  std::unique_ptr<LayoutCursor> source, destination;
};

inline const void* keep_bytes(const void* bytes, std::uint64_t length, std::unique_ptr<std::byte[]>& room) {
  if (length == 0) return bytes;
  room = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(length));
  std::memcpy(room.get(), bytes, static_cast<std::size_t>(length));
  return room.get();
}

inline LayoutCursor* keep_layout(const LayoutCursor& layout, std::unique_ptr<LayoutCursor>& room) {
  room = layout.detached();
  room->set_guarded(layout.guarded());
  return room.get();
}

// Makes `request` refer to the copies in `parts`. Data is copied up to `copy_limit` bytes, user header included.
template <class Request>
void keep_parts(Request& request, std::uint64_t copy_limit, KeptParts& parts) {
  if constexpr (requires { request.user_header; }) {
    request.user_header = keep_bytes(request.user_header, request.user_header_length, parts.header);
  }
  if constexpr (std::is_same_v<Request, PutRequest>) {
    if (request.length <= copy_limit) request.data = keep_bytes(request.data, request.length, parts.data);
  } else if constexpr (std::is_same_v<Request, ActiveMessageRequest>) {
    if (request.length <= copy_limit && request.length + request.user_header_length <= copy_limit) {
      request.data = keep_bytes(request.data, request.length, parts.data);
    }
  }
  if constexpr (requires { request.source; }) request.source = keep_layout(*request.source, parts.source);
  if constexpr (requires { request.destination; }) {
    request.destination = keep_layout(*request.destination, parts.destination);
  }
}

// Reports an operation that did not begin, as its caller would have been told.
template <class Request>
UnbegunOperation unbegun(const Request& request) {
  UnbegunOperation operation{request.target, request.origin_counter, 0, {}};
  if constexpr (requires { request.completion_counter; }) operation.completion_counter = request.completion_counter;
  if constexpr (requires { request.send_handler; }) operation.send_handler = request.send_handler;
  return operation;
}

template <auto Begin, class Request>
class KeptOperation final : public GuestCall {
 public:
  KeptOperation(lapi_handle_t handle, const Request& request, std::uint64_t copy_limit)
      : GuestCall(handle, request.target), request_(request) {
    keep_parts(request_, copy_limit, parts_);
  }
  bool run(Context& context) override {
    Endpoint& endpoint = context.endpoint();
    const Submit result = (endpoint.*Begin)(request_);
    if (result == Submit::busy) return false;
    if (result != Submit::accepted) endpoint.give_up_unbegun(unbegun(request_), result);
    return true;
  }

 private:
  Request request_;
  KeptParts parts_;
};

}  // namespace openlapi
