// What a fault that nobody expects comes to beside the program's own handlers of SIGSEGV and SIGBUS. Each time in a
// process of its own: the library's handlers are installed once. What they write, system/wrong_address reads.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "dataplane/base/memory_fault_guard.h"
#include "dataplane/endpoint/fault_explanation.h"

namespace openlapi {
namespace {

constexpr int kRight = 20;
constexpr int kExplained = 30;
constexpr int kHandled = 40;  // and the signal's number

using Step = void (*)();

void ends(int signal) { _exit(kHandled + signal); }
void ends_with_info(int signal, siginfo_t*, void*) { _exit(kHandled + signal); }

struct sigaction action_of(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action;
}
void handle_with_info(int signal) {
  struct sigaction action {};
  action.sa_sigaction = ends_with_info;
  action.sa_flags = SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

// The compiler is not to know the address: it warns of those that cannot be good.
void read_at(volatile int* address) {
  volatile int* volatile const hidden = address;
  static_cast<void>(*hidden);
}
void fault() { read_at(reinterpret_cast<volatile int*>(0x1000)); }
void send() { kill(getpid(), SIGSEGV); }
void nothing() {}

const MessageDirectory* nowhere() { return nullptr; }
const MessageDirectory* says_that_it_is_asked() {
  _exit(kExplained);
}  // whoever explains a fault asks where the thread is

// The program does something about its signals, the library begins, and then that happens.
template <class Expected>
void expect_end(Step prepare, Step happens, const Expected& expected, const MessageDirectory* (*inside)() = nowhere) {
  EXPECT_EXIT(
      {
        alarm(20);  // a fault may come again for ever
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        prepare();
        explain_memory_faults(inside, 0);
        happens();
        _exit(0);
      },
      expected, "");
}

const testing::KilledBySignal kKilled(SIGSEGV);
const testing::ExitedWithCode kHandlerEnds(kHandled + SIGSEGV);

TEST(UnexpectedFault, KillsWhereTheProgramHasNoHandler) {
  expect_end(nothing, fault, kKilled);
  expect_end(nothing, send, kKilled);
}

TEST(UnexpectedFault, MeetsTheProgramsHandler) {
  for (const Step happens : {fault, send}) {
    expect_end([] { signal(SIGSEGV, ends); }, happens, kHandlerEnds);
    expect_end([] { handle_with_info(SIGSEGV); }, happens, kHandlerEnds);
  }
}

// The program looks after failing memory alone: wrong addresses are none of its handler's business.
TEST(UnexpectedFault, DoesNotMeetTheHandlerOfTheOtherSignal) {
  expect_end([] { signal(SIGBUS, ends); }, fault, kKilled);
  expect_end([] { signal(SIGBUS, ends); }, send, kKilled);
}

TEST(UnexpectedFault, IsExplainedUnlessSomebodyHasSentIt) {
  const testing::ExitedWithCode explained(kExplained);
  expect_end(nothing, fault, explained, says_that_it_is_asked);
  expect_end(nothing, send, kKilled, says_that_it_is_asked);
}

// Copies may be guarded before or afterwards.
TEST(UnexpectedFault, IsExplainedBesideGuardedCopies) {
  const testing::ExitedWithCode explained(kExplained);
  const Step guard = [] { catch_memory_faults(); };
  const Step guard_and_fault = [] {
    catch_memory_faults();
    fault();
  };
  expect_end(guard, fault, explained, says_that_it_is_asked);
  expect_end(nothing, guard_and_fault, explained, says_that_it_is_asked);
}

TEST(UnexpectedFault, IsWaitedForWhereNobodyElseDoes) {
  const testing::ExitedWithCode right(kRight);
  const Step both_are_taken = [] {
    for (const int signal : {SIGSEGV, SIGBUS}) {
      const struct sigaction action = action_of(signal);
      if ((action.sa_flags & SA_SIGINFO) == 0 || (action.sa_flags & SA_ONSTACK) == 0) _exit(kHandled);
    }
    _exit(kRight);
  };
  const Step the_first_is_the_programs = [] {
    const bool stays = (action_of(SIGSEGV).sa_flags & SA_SIGINFO) == 0 && action_of(SIGSEGV).sa_handler == ends;
    _exit(stays && (action_of(SIGBUS).sa_flags & SA_SIGINFO) != 0 ? kRight : kHandled);
  };
  const Step the_second_is_the_programs = [] {
    const bool stays = action_of(SIGBUS).sa_sigaction == ends_with_info;
    _exit(stays && (action_of(SIGSEGV).sa_flags & SA_SIGINFO) != 0 ? kRight : kHandled);
  };
  expect_end(nothing, both_are_taken, right);
  expect_end([] { signal(SIGSEGV, ends); }, the_first_is_the_programs, right);
  expect_end([] { handle_with_info(SIGBUS); }, the_second_is_the_programs, right);
}

}  // namespace
}  // namespace openlapi
