// Vector operations begin: what LAPI_Putv and its like have in common with LAPI_Xfer. A return code.
#pragma once

#include "api/arguments/vectors.h"
#include "api/calls/operations.h"

namespace openlapi {

// `request` has everything but the cursors.
inline int begin_put_vector(Context& context, lapi_handle_t handle, const VectorView& origin, const VectorView& there,
                            LayoutPutRequest request) {
  const int error = context.checks_arguments() ? check_vector_transfer(context.tasks(), request.target, origin, there)
                                               : check_vectors_usable(origin, there);
  if (error != LAPI_SUCCESS) return error;
  VectorCursor source(origin), destination(there);
  request.source = &source.get();
  request.destination = &destination.get();
  return submit<&Endpoint::put_layout>(context, handle, request);
}

inline int begin_get_vector(Context& context, lapi_handle_t handle, const VectorView& origin, const VectorView& there,
                            LayoutGetRequest request) {
  const int error = context.checks_arguments() ? check_vector_transfer(context.tasks(), request.target, origin, there)
                                               : check_vectors_usable(origin, there);
  if (error != LAPI_SUCCESS) return error;
  VectorCursor source(there), destination(origin);
  request.source = &source.get();
  request.destination = &destination.get();
  return submit<&Endpoint::get_layout>(context, handle, request);
}

inline int begin_vector_message(Context& context, lapi_handle_t handle, const VectorView& origin,
                                LayoutMessageRequest request) {
  const int error = context.checks_arguments()
                        ? check_vector_message(context.tasks(), context.max_user_header(), request.target,
                                               request.handler, request.user_header, request.user_header_length, origin)
                        : check_vector_usable(origin);
  if (error != LAPI_SUCCESS) return error;
  VectorCursor source(origin);
  request.source = &source.get();
  request.vector = true;
  return submit<&Endpoint::layout_message>(context, handle, request);
}

}  // namespace openlapi
