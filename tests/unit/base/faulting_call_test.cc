// Whose mistake a memory fault is, by the file that the faulting code lies in.
#include "dataplane/base/faulting_call.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <string>

namespace openlapi {
namespace {

sigjmp_buf after_fault;
FaultIn where;

void on_fault(int, siginfo_t*, void* context) {
  where = find_faulting_call(context).where;
  siglongjmp(after_fault, 1);
}

// Where a fault lies in the function of this file.
FaultIn fault_in(const char* file) {
  using Write = void(volatile char*);
  const char* const folder = std::getenv("FAULTING_MODULES");
  void* const module = dlopen((std::string(folder != nullptr ? folder : "") + "/" + file).c_str(), RTLD_NOW);
  auto* const write = module != nullptr ? reinterpret_cast<Write*>(dlsym(module, "write_byte")) : nullptr;
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  where = FaultIn::unknown;
  if (write == nullptr || page == MAP_FAILED) {
    ADD_FAILURE() << file;
    return where;
  }
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &ours, &before);
  if (sigsetjmp(after_fault, 1) == 0) write(static_cast<volatile char*>(page));
  sigaction(SIGSEGV, &before, nullptr);
  munmap(page, 4096);
  return where;
}

TEST(FaultingCall, ATransportThatTheLibraryHasLoadedIsNotTheProgram) {
  EXPECT_EQ(fault_in("libopenlapi-faulting.so"), FaultIn::library);
}

TEST(FaultingCall, AnyOtherLibraryIs) { EXPECT_EQ(fault_in("libfaulting.so"), FaultIn::program); }

}  // namespace
}  // namespace openlapi
