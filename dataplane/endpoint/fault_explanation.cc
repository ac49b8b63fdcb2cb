#include "dataplane/endpoint/fault_explanation.h"

#include <dlfcn.h>
#include <signal.h>

#include <cstring>
#include <string_view>

#include "dataplane/base/faulting_call.h"
#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/endpoint/fault_names.h"

namespace openlapi {

namespace {

const MessageDirectory* (*endpoint_inside)() = nullptr;
unsigned own_task = 0;

std::uintptr_t place_of(const void* variable) {
  return variable != nullptr ? reinterpret_cast<std::uintptr_t>(variable) : UINTPTR_MAX;
}

bool name_own(const FaultingCall& call, FaultLine& line) {
  if (call.where != FaultIn::library || call.name == nullptr) return false;
  line << "in its own " << call.name;
  return true;
}

// What the thread was doing last: of a call and what it serves or moves that which lies lower on the stack (the places
// of the latter two may share a frame, in any order). False: it is not known.
bool name_work(const MessageDirectory& directory, const FaultingCall& call, const void* address, FaultLine& line) {
  const std::uintptr_t called = call.name != nullptr ? call.frame : UINTPTR_MAX;
  const bool in_handler = call.where == FaultIn::program;
  if (moved_message != nullptr && moved_message->within == served_packet) {
    if (place_of(moved_message) < called) return name_moved(*moved_message, in_handler, line);
  } else if (place_of(served_packet) < called) {
    return name_served(*served_packet, in_handler, line);
  }
  if (call.where != FaultIn::library) return false;
  if (const OutgoingMessage* const sent = directory.sent_from(address); sent != nullptr)
    return name_leaving(*sent, line);
  return name_own(call, line);
}

void explain(const siginfo_t& info, const void* context) {
  FaultLine line;
  line << "openlapi: task " << std::uint64_t{own_task} << ": memory fault at ";
  // The processor does not tell an address that it cannot form.
  const void* const address = info.si_code == SI_KERNEL ? nullptr : info.si_addr;
  (address != nullptr || info.si_code != SI_KERNEL ? line.address(address) : line << "an impossible address") << " ";
  const FaultingCall call = find_faulting_call(context);
  const MessageDirectory* const directory = endpoint_inside();  // null in a call that has not got there, or needs none
  const bool known = directory != nullptr ? name_work(*directory, call, address, line) : name_own(call, line);
  if (known) (line << "\n").write_out();
}

struct sigaction before_segmentation_faults, before_bus_errors;

// The instruction faults again when this returns, and meets the handler that was there before.
void on_unexpected_fault(int signal, siginfo_t* info, void* context) {
  sigaction(signal, signal == SIGSEGV ? &before_segmentation_faults : &before_bus_errors, nullptr);
  if (info->si_code <= 0) {  // somebody has sent it
    raise(signal);
  } else {
    explain(*info, context);
  }
}

// A handler that tells where the program died, and lets it die: those of Fortran's main programs, of Open MPI and of
// UCX. Others may have their own ways with a fault, and go on.
bool is_crash_reporter(const struct sigaction& action) {
  const void* code = nullptr;
  static_assert(sizeof(code) == sizeof(action.sa_handler));
  std::memcpy(&code, &action.sa_handler, sizeof(code));  // sa_sigaction lies at the same place
  Dl_info object{};
  if (dladdr(code, &object) == 0 || object.dli_fname == nullptr) return false;
  const std::string_view path = object.dli_fname, file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libgfortran.") || file.starts_with("libopen-pal.") || file.starts_with("libucs.");
}

bool install_where_nobody_handles(int signal, struct sigaction& before) {
  sigaction(signal, nullptr, &before);
  const bool is_default = (before.sa_flags & SA_SIGINFO) == 0 && before.sa_handler == SIG_DFL;
  if (!is_default && !is_crash_reporter(before)) return false;
  struct sigaction ours {};
  ours.sa_sigaction = on_unexpected_fault;
  ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&ours.sa_mask);
  return sigaction(signal, &ours, nullptr) == 0;
}

}  // namespace

void explain_memory_faults(const MessageDirectory* (*inside)(), unsigned self) {
  [[maybe_unused]] static const bool installed = [inside, self] {
    endpoint_inside = inside;
    own_task = self;
    explain_unhandled_faults(explain);
    const bool segmentation = install_where_nobody_handles(SIGSEGV, before_segmentation_faults);
    return install_where_nobody_handles(SIGBUS, before_bus_errors) && segmentation;
  }();
}

}  // namespace openlapi
