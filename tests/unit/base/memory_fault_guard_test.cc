// Every test that has handlers of its own, or ends, is a process of its own: the guard's handlers are installed once.
#include "dataplane/base/memory_fault_guard.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "tests/support/sanitizers.h"

namespace openlapi {
namespace {

constexpr std::size_t kPage = 4096;
constexpr bool kMasksAreAsAsked = !kThreadSanitizer;  // its sigaction() blocks all signals in every handler

volatile unsigned char* page(int protection) {
  void* const place = mmap(nullptr, kPage, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (place == MAP_FAILED) _exit(99);
  return static_cast<volatile unsigned char*>(place);
}

// The compiler is not to know the address: it warns of those that cannot be good.
void read_at(volatile unsigned char* address) {
  volatile unsigned char* volatile const hidden = address;
  static_cast<void>(*hidden);
}

// Runs in a new process, whose signals have their default actions, and must end it.
template <class Body>
void in_child(const Body& body, const testing::ExitedWithCode& expected = testing::ExitedWithCode(0)) {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        body();
        _exit(0);
      },
      expected, "");
}
template <class Body>
void kills_child(int signal_number, const Body& body, const char* said = "") {
  EXPECT_EXIT(
      {
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        body();
        _exit(0);
      },
      testing::KilledBySignal(signal_number), said);
}

void demand(bool condition, int code) {
  if (!condition) _exit(code);
}

TEST(MemoryFaultGuardTest, SurvivesMemoryThatIsNotThere) {
  in_child([] {
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    volatile unsigned char* const constant = page(PROT_READ);
    volatile unsigned char* const gone = page(PROT_READ);
    munmap(const_cast<unsigned char*>(gone), kPage);
    for (int round = 0; round < 1000; ++round) {
      demand(!survives([&] { read_at(nothing); }), 1);
      demand(!survives([&] { *constant = 1; }), 2);
      demand(!survives([&] { read_at(gone); }), 3);
      demand(survives([&] { read_at(constant); }), 4);
      demand(!in_guarded_copy(), 5);
    }
  });
}

// x86-64: the processor cannot form such an address, and the signal has none.
TEST(MemoryFaultGuardTest, SurvivesAddressesThatCannotBe) {
  in_child([] {
    catch_memory_faults();
    const auto beyond = sizeof(void*) == 8 ? std::uintptr_t(1) << (sizeof(void*) * 8 - 2) : std::uintptr_t(64);
    demand(!survives([&] { read_at(reinterpret_cast<volatile unsigned char*>(beyond)); }), 1);
  });
}

TEST(MemoryFaultGuardTest, SurvivesAFileThatHasBecomeShorter) {
  in_child([] {
    catch_memory_faults();
    const int file = memfd_create("short", 0);
    demand(file >= 0 && ftruncate(file, kPage) == 0, 1);
    void* const place = mmap(nullptr, kPage, PROT_READ, MAP_SHARED, file, 0);
    demand(place != MAP_FAILED && ftruncate(file, 0) == 0, 2);
    demand(!survives([&] { read_at(static_cast<volatile unsigned char*>(place)); }), 3);
  });
}

TEST(MemoryFaultGuardTest, Nests) {
  in_child([] {
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    bool went_on = false;
    const bool outer = survives([&] {
      demand(!survives([&] { read_at(nothing); }), 1);
      demand(in_guarded_copy(), 2);
      went_on = true;
      read_at(nothing);
      _exit(3);
    });
    demand(!outer && went_on && !in_guarded_copy(), 4);
  });
}

TEST(MemoryFaultGuardTest, AnExceptionEndsTheGuard) {
  bool caught = false;
  try {
    survives([] { throw std::runtime_error("no memory"); });
  } catch (const std::runtime_error&) {
    caught = true;
  }
  EXPECT_TRUE(caught);
  EXPECT_FALSE(in_guarded_copy());
}

// ---- what is not ours ----

TEST(MemoryFaultGuardTest, OtherFaultsKillAsBefore) {
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    survives([] {});
    read_at(page(PROT_NONE));
  });
}

TEST(MemoryFaultGuardTest, WhatKillsIsExplainedBefore) {
  kills_child(
      SIGSEGV,
      [] {
        catch_memory_faults();
        explain_unhandled_faults([](const siginfo_t& info, const void*) {
          if (write(STDERR_FILENO, info.si_code == SEGV_ACCERR ? "explained\n" : "different\n", 10) != 10) _exit(98);
        });
        static volatile unsigned char* const place = page(PROT_NONE);
        EXPECT_FALSE(survives([] { *place = 1; }));  // without a word
        *place = 1;
      },
      "^explained\n($|qemu)");  // an emulator has its own word behind
}

TEST(MemoryFaultGuardTest, FaultsThatCannotBeIgnoredKill) {
  for (const bool is_there : {false, true}) {
    kills_child(SIGSEGV, [is_there] {
      signal(SIGSEGV, SIG_IGN);
      catch_memory_faults();
      volatile unsigned char* const place = page(PROT_NONE);
      if (!is_there) munmap(const_cast<unsigned char*>(place), kPage);
      read_at(place);
    });
  }
}

TEST(MemoryFaultGuardTest, SignalsThatAreSentKillAlsoInsideAGuard) {
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    survives([] { raise(SIGSEGV); });
  });
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    survives([] { kill(getpid(), SIGSEGV); });
  });
  kills_child(SIGBUS, [] {
    catch_memory_faults();
    kill(getpid(), SIGBUS);
  });
}

// As the kernel tells of memory that has failed: a process may send itself such a signal.
void tell_of(int signal_number, int code) {
  siginfo_t info{};
  info.si_signo = signal_number;
  info.si_code = code;
  if (syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), signal_number, &info) != 0) _exit(98);
}

TEST(MemoryFaultGuardTest, FailingMemoryIsNoFaultOfTheCopys) {
  kills_child(SIGBUS, [] {
    catch_memory_faults();
    survives([] { tell_of(SIGBUS, BUS_MCEERR_AO); });
  });
  in_child([] {  // that one comes again, from the instruction that needs the memory: not here
    catch_memory_faults();
    demand(survives([] { tell_of(SIGBUS, BUS_MCEERR_AR); }), 1);
  });
  in_child([] {  // the same number means something else of another signal
    catch_memory_faults();
    demand(!survives([] { tell_of(SIGSEGV, BUS_MCEERR_AO); }), 1);
  });
}

// Of memory that nobody has used yet: it is told once, and may be ignored.
TEST(MemoryFaultGuardTest, MemoryThatWillFailMayBeIgnored) {
  in_child([] {
    signal(SIGBUS, SIG_IGN);
    catch_memory_faults();
    tell_of(SIGBUS, BUS_MCEERR_AO);
  });
}

TEST(MemoryFaultGuardTest, SignalsThatAreSentMayBeIgnored) {
  in_child([] {
    signal(SIGSEGV, SIG_IGN);
    catch_memory_faults();
    demand(survives([] { raise(SIGSEGV); }), 1);
    raise(SIGSEGV);
  });
}

TEST(MemoryFaultGuardTest, AFunctionOfTheUsersIsNotGuarded) {
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    survives([] {
      const WithoutGuard unguarded;
      read_at(page(PROT_NONE));
    });
  });
  in_child([] {
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    demand(!survives([&] {
      {
        const WithoutGuard unguarded;
        demand(!in_guarded_copy(), 1);
      }
      read_at(nothing);
    }),
           2);
  });
}

// ---- handlers of the user's ----

std::atomic<int> handled{0};
std::atomic<int> blocked_inside{0};
volatile unsigned char* expected_address = nullptr;
sigjmp_buf user_place;

bool is_blocked(int signal_number) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal_number) == 1;
}

void with_information(int signal_number, siginfo_t* info, void* context) {
  if (signal_number != SIGSEGV || info->si_addr != expected_address || context == nullptr) _exit(50);
  ++handled;
  blocked_inside = (is_blocked(SIGUSR1) ? 1 : 0) + (is_blocked(SIGSEGV) ? 2 : 0) + (is_blocked(SIGUSR2) ? 4 : 0);
  siglongjmp(user_place, 1);
}

void makes_readable(int) {
  ++handled;
  mprotect(const_cast<unsigned char*>(expected_address), kPage, PROT_READ);
}

void install_own(void (*handler)(int, siginfo_t*, void*), int flags, struct sigaction* before = nullptr) {
  struct sigaction action {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO | flags;
  sigaddset(&action.sa_mask, SIGUSR1);
  demand(sigaction(SIGSEGV, &action, before) == 0, 51);
}

TEST(MemoryFaultGuardTest, AHandlerThatWasThereGetsWhatIsNotOurs) {
  for (const bool deferred : {true, false}) {
    in_child([deferred] {
      expected_address = page(PROT_NONE);
      install_own(with_information, deferred ? 0 : SA_NODEFER);
      catch_memory_faults();
      demand(!survives([] { read_at(expected_address); }) && handled == 0, 1);
      if (sigsetjmp(user_place, 1) == 0) {
        read_at(expected_address);
        _exit(2);
      }
      demand(handled == 1, 3);
      demand(!kMasksAreAsAsked || blocked_inside == (deferred ? 3 : 1), 4);
      demand(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1), 5);
      demand(!survives([] { read_at(expected_address); }) && handled == 1, 6);
    });
  }
}

TEST(MemoryFaultGuardTest, APlainHandlerMayMendAndReturn) {
  in_child([] {
    expected_address = page(PROT_NONE);
    signal(SIGSEGV, makes_readable);
    catch_memory_faults();
    read_at(expected_address);
    demand(handled == 1, 1);
    demand(!is_blocked(SIGSEGV), 2);
  });
}

TEST(MemoryFaultGuardTest, AHandlerForOneSignalHasOne) {
  kills_child(SIGSEGV, [] {
    struct sigaction action {};
    action.sa_handler = makes_readable;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGSEGV, &action, nullptr);
    catch_memory_faults();
    expected_address = page(PROT_NONE);
    read_at(expected_address);
    demand(handled == 1, 1);
    read_at(page(PROT_NONE));
  });
}

struct sigaction ours;

void hands_on(int signal_number, siginfo_t* info, void* context) {
  ++handled;
  ours.sa_sigaction(signal_number, info, context);
}

TEST(MemoryFaultGuardTest, AHandlerThatCameLaterMayHandOn) {
  in_child([] {
    catch_memory_faults();
    install_own(hands_on, 0, &ours);
    volatile unsigned char* const nothing = page(PROT_NONE);
    for (int round = 1; round <= 3; ++round) {
      demand(!survives([&] { read_at(nothing); }), 1);
      demand(handled == round, 2);
      demand(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1), 3);
    }
  });
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    install_own(hands_on, 0, &ours);
    read_at(page(PROT_NONE));
  });
}

TEST(MemoryFaultGuardTest, AnAlternateStackCanBeUsedAgain) {
  in_child([] {
    static unsigned char memory[1 << 16];
    stack_t stack{};
    stack.ss_sp = memory;
    stack.ss_size = sizeof memory;
    demand(sigaltstack(&stack, nullptr) == 0, 1);
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    for (int round = 0; round < 100; ++round) demand(!survives([&] { read_at(nothing); }), 2);
    demand(sigaltstack(nullptr, &stack) == 0 && (stack.ss_flags & SS_ONSTACK) == 0, 3);
  });
}

// ---- threads ----

TEST(MemoryFaultGuardTest, EveryThreadHasItsOwn) {
  in_child([] {
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    std::atomic<int> wrong{0};
    const auto fault = [&] {
      for (int round = 0; round < 2000; ++round) {
        if (survives([&] { read_at(nothing); })) ++wrong;
      }
    };
    std::thread one(fault), other(fault);
    one.join();
    other.join();
    demand(wrong == 0, 1);
  });
  kills_child(SIGSEGV, [] {
    catch_memory_faults();
    volatile unsigned char* const nothing = page(PROT_NONE);
    survives([&] { std::thread([&] { read_at(nothing); }).join(); });
  });
}

}  // namespace
}  // namespace openlapi
