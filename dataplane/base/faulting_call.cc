#include "dataplane/base/faulting_call.h"

#include <dlfcn.h>
#include <ucontext.h>
#include <unwind.h>

#include <string_view>

namespace openlapi {

namespace {

constexpr std::uintptr_t kUnknownProcessor = 0;

// From the function that has faulted outwards.
struct Walk {
  const void* library;
  bool begun;
  bool ends_in_libc;  // that function is one of the C library's
  FaultingCall found;
};

std::uintptr_t instruction_of(const void* context) {
  [[maybe_unused]] const mcontext_t& registers = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_RIP]);
#elif defined(__i386__)
  return static_cast<std::uintptr_t>(registers.gregs[REG_EIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(registers.pc);
#else
  return kUnknownProcessor;
#endif
}

Dl_info symbol_at(std::uintptr_t address) {
  Dl_info symbol{};
  if (dladdr(reinterpret_cast<const void*>(address), &symbol) == 0) return {};
  return symbol;
}

std::string_view file_of(const Dl_info& symbol) { return symbol.dli_fname != nullptr ? symbol.dli_fname : ""; }

bool is_libc(const Dl_info& symbol) { return file_of(symbol).find("/libc.so") != std::string_view::npos; }

// A user space transport's library, with copies of ours in it (api/wiring/modules.h).
bool is_module(const Dl_info& symbol) {
  const std::string_view file = file_of(symbol);
  return file.substr(file.rfind('/') + 1).starts_with("libopenlapi-");
}

// The program's own LAPI_Put calls PLAPI_Put (chapter 15).
const char* call_named(const char* symbol) {
  const std::string_view name = symbol != nullptr ? symbol : "";
  if (name.starts_with("LAPI_")) return symbol;
  return name.starts_with("PLAPI_") ? symbol + 1 : nullptr;
}

// Only functions that programs can call have names here.
void look_at_function(Walk& walk, const Dl_info& symbol) {
  const bool in_library = symbol.dli_fbase == walk.library, ours = in_library || is_module(symbol);
  if (!walk.begun) {
    walk.found.where = ours ? FaultIn::library : FaultIn::program;
    walk.ends_in_libc = is_libc(symbol);
  } else if (walk.ends_in_libc) {
    if (ours) walk.found.where = FaultIn::library;
    walk.ends_in_libc = false;
  }
  walk.begun = true;
  if (in_library) walk.found.name = call_named(symbol.dli_sname);
}

_Unwind_Reason_Code look_at(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  if (walk.found.name != nullptr) {
    walk.found.frame = _Unwind_GetCFA(context);
    return _URC_NORMAL_STOP;
  }
  int interrupted = 0;
  const std::uintptr_t next = _Unwind_GetIPInfo(context, &interrupted);
  if (!walk.begun && interrupted == 0) return _URC_NO_REASON;  // the signal's handler
  // Behind the call of a function that does not return another function may begin.
  look_at_function(walk, symbol_at(interrupted != 0 ? next : next - 1));
  return _URC_NO_REASON;
}

}  // namespace

// The unwinder reads what lies at an instruction that it knows nothing of: there must be something.
FaultingCall find_faulting_call(const void* context) {
  const std::uintptr_t instruction = instruction_of(context);
  if (instruction == kUnknownProcessor) return {};
  FaultingCall nothing_there;
  nothing_there.where = FaultIn::program;
  if (symbol_at(instruction).dli_fbase == nullptr) return nothing_there;
  Walk walk{symbol_at(reinterpret_cast<std::uintptr_t>(&find_faulting_call)).dli_fbase, false, false, {}};
  _Unwind_Backtrace(look_at, &walk);
  return walk.found;
}

}  // namespace openlapi
