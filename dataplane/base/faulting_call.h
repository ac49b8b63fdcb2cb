// Finds out from the stack, in a handler of SIGSEGV or SIGBUS, whose mistake a fault may be.
#pragma once

#include <cstdint>

namespace openlapi {

enum class FaultIn : std::uint8_t {
  unknown,
  library,  // or a transport that it has loaded; also memcpy() and the like, called by either
  program,  // or anything else it uses; also a jump to where there is no code
};

struct FaultingCall {
  FaultIn where = FaultIn::unknown;
  const char* name = nullptr;  // innermost call of lapi.h below the fault, "LAPI_Put"; null: none
  std::uintptr_t frame = 0;  // where the frame of that call ends: its variables, and all that it has called, lie below
};

// `context`: as passed to the signal's handler.
FaultingCall find_faulting_call(const void* context);

}  // namespace openlapi
