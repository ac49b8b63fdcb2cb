// What the programs of the C++ face begin with.
#pragma once

#include "lapi.hpp"
#include "tests/system/api_case.h"

namespace api_case {

// A context that checks arguments, in the mode of the program's words, with addresses if they are needed.
inline lapi::Context open_cpp_context() {
  lapi_info_t info = lapi::Context::defaults();
  const UdpAddresses addresses(info);
  lapi::Context context = addresses.given() ? lapi::Context(info) : lapi::Context();
  handle = context.handle();
  task = static_cast<int>(context.task());
  tasks = static_cast<int>(context.tasks());
  context.set(ERROR_CHK, 1);
  context.set(INTERRUPT_SET, !polling);
  return context;
}

}  // namespace api_case
