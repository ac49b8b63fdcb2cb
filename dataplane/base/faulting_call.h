// What the stack tells a handler of SIGSEGV or SIGBUS of whose mistake it may be.
#pragma once

#include <cstdint>

namespace openlapi {

enum class FaultIn : std::uint8_t {
  unknown,
  library,  // or a transport that it has loaded; also memcpy() and its like, called by either
  program,  // and whatever else it uses; also a jump to where no code is
};

struct FaultingCall {
  FaultIn where = FaultIn::unknown;
  const char* name = nullptr;  // the innermost call of lapi.h below the fault, "LAPI_Put"; null: there is none
  std::uintptr_t frame = 0;  // where the frame of that call ends: its variables, and all that it has called, lie below
};

// `context` as the signal's handler has got it.
FaultingCall find_faulting_call(const void* context);

}  // namespace openlapi
