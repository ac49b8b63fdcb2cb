// Whose mistake a memory fault is, by the file that the faulting code lies in, and in which call it happened. The
// test's program stands for the library: what is looked for lies in it.
#include "dataplane/base/faulting_call.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/support/sanitizers.h"

namespace {

using Write = void (*)(volatile char*);

Write inner = nullptr;
std::uintptr_t frame_of_call = 0;
void* (*volatile set_bytes)(void*, int, std::size_t) = memset;

// The compiler knows nothing of what it does, so that no call is a function's last act.
void go_on() { asm volatile("" ::: "memory"); }

// Behind its call another function begins.
[[noreturn, gnu::noinline]] void write_and_stop(volatile char* place) {
  *place = 1;
  std::abort();
}

}  // namespace

extern "C" {
[[gnu::visibility("default"), gnu::noinline]] void LAPI_Write(volatile char* place) {
  frame_of_call = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  *place = 1;
}
[[gnu::visibility("default"), gnu::noinline]] void LAPI_First(volatile char* place) { *place = 1; }
[[gnu::visibility("default"), gnu::noinline]] void LAPI_Last(volatile char* place) { write_and_stop(place); }
[[gnu::visibility("default"), gnu::noinline]] void PLAPI_Set(volatile char* place) {
  set_bytes(const_cast<char*>(place), 1, 1);
  go_on();
}
[[gnu::visibility("default"), gnu::noinline]] void LAPI_Outer(volatile char* place) {
  inner(place);
  go_on();
}
[[gnu::visibility("default"), gnu::noinline]] void other_function(volatile char* place) {
  inner(place);
  go_on();
}
}

namespace openlapi {
namespace {

sigjmp_buf after_fault;
FaultingCall found;

void on_fault(int, siginfo_t*, void* context) {
  found = find_faulting_call(context);
  siglongjmp(after_fault, 1);
}

FaultingCall fault_in(Write write) {
  void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  found = {};
  if (write == nullptr || page == MAP_FAILED) {
    ADD_FAILURE();
    return found;
  }
  struct sigaction ours {};
  struct sigaction before {};
  ours.sa_sigaction = on_fault;
  ours.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &ours, &before);
  if (sigsetjmp(after_fault, 1) == 0) write(static_cast<volatile char*>(page));
  sigaction(SIGSEGV, &before, nullptr);
  munmap(page, 4096);
  return found;
}

Write function_of(const char* file, const char* name) {
  const char* const folder = std::getenv("FAULTING_MODULES");
  void* const module = dlopen((std::string(folder != nullptr ? folder : "") + "/" + file).c_str(), RTLD_NOW);
  return module != nullptr ? reinterpret_cast<Write>(dlsym(module, name)) : nullptr;
}

constexpr const char* kTransport = "libopenlapi-faulting.so";
constexpr const char* kOther = "libfaulting.so";
constexpr bool kSetsBytesInLibc = !kAddressSanitizer;  // which has a memset() of its own

TEST(FaultingCall, ATransportThatTheLibraryHasLoadedIsNotTheProgram) {
  for (const char* name : {"write_byte", kSetsBytesInLibc ? "set_byte" : "write_byte"}) {
    EXPECT_EQ(fault_in(function_of(kTransport, name)).where, FaultIn::library) << name;
  }
}

TEST(FaultingCall, AnyOtherLibraryIs) {
  for (const char* name : {"write_byte", kSetsBytesInLibc ? "set_byte" : "write_byte"}) {
    EXPECT_EQ(fault_in(function_of(kOther, name)).where, FaultIn::program) << name;
  }
}

TEST(FaultingCall, HasTheNameOfTheInnermostCall) {
  struct Case {
    Write inner, outer;
    FaultIn where;
    const char* name;
  };
  std::vector<Case> cases = {
      {LAPI_Write, LAPI_Outer, FaultIn::library, "LAPI_Write"},
      {LAPI_First, LAPI_Outer, FaultIn::library, "LAPI_First"},
      {LAPI_Last, LAPI_Outer, FaultIn::library, "LAPI_Last"},
      {function_of(kOther, "write_byte"), LAPI_Outer, FaultIn::program, "LAPI_Outer"},
      {function_of(kOther, "write_byte"), other_function, FaultIn::program, ""},
  };
  if (kSetsBytesInLibc) {
    cases.push_back({function_of(kOther, "set_byte"), LAPI_Outer, FaultIn::program, "LAPI_Outer"});
    cases.push_back({PLAPI_Set, LAPI_Outer, FaultIn::library, "LAPI_Set"});
    cases.push_back({function_of(kTransport, "set_byte"), LAPI_Outer, FaultIn::library, "LAPI_Outer"});
  }
  for (const auto& [innermost, outer, where, name] : cases) {
    inner = innermost;
    const FaultingCall call = fault_in(outer);
    EXPECT_EQ(call.where, where) << name;
    EXPECT_STREQ(call.name != nullptr ? call.name : "", name);
  }
}

TEST(FaultingCall, ItsFrameEndsAboveItsVariables) {
  const FaultingCall call = fault_in(LAPI_Write);
  EXPECT_GT(call.frame, frame_of_call);
  EXPECT_LE(call.frame, reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
}

TEST(FaultingCall, AJumpToWhereNoCodeIsIsTheProgramsAndHasNoName) {
  // By the C library: a sanitizer looks at what lies there before a call of the test's own.
  const FaultingCall call = fault_in([](volatile char* page) {
    char two[] = "ab";
    std::qsort(two, 2, 1, reinterpret_cast<int (*)(const void*, const void*)>(reinterpret_cast<std::uintptr_t>(page)));
  });
  EXPECT_EQ(call.where, FaultIn::program);
  EXPECT_EQ(call.name, nullptr);
}

}  // namespace
}  // namespace openlapi
