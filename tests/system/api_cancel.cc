// Threads that are cancelled (pthread_cancel) inside the calls that wait: they end, the context and the other tasks go
// on. With both types of cancellation, at moments that a thread reaches after different times. Usage:
//   lapirun -n N api_cancel [interrupt|polling] [alone]     alone: each task has one context only
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <vector>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

enum Index { kHeld = 1, kPointed };

lapi_cntr_t never{};
std::atomic<int> begun{0};
std::atomic<bool> held_back{false};  // messages of kHeld are dropped, so fences before them do not end
std::atomic<int> pointed{0};

void* held_handler(lapi_handle_t*, void*, uint*, ulong* length, compl_hndlr_t**, void**) {
  if (held_back) reinterpret_cast<lapi_return_info_t*>(length)->ctl_flags = LAPI_DROP_PKT;
  return nullptr;
}

// A handler that reaches a cancellation point, in whatever thread it runs.
void* pointed_handler(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t**, void**) {
  pthread_testcancel();
  ++pointed;
  return nullptr;
}

// What a thread is cancelled in. `type`: of its cancellation.
struct Victim {
  int (*call)();
  int type;
};

void* be_cancelled(void* argument) {
  const Victim& victim = *static_cast<Victim*>(argument);
  pthread_setcanceltype(victim.type, nullptr);
  ++begun;
  const int code = victim.call();
  fail(("the call that a thread was to be cancelled in returned " + std::to_string(code)).c_str());
}

// Moments: while it begins, while it polls, while it sleeps.
constexpr unsigned kDelays[] = {0, 20, 200, 2'000, 60'000};

// A thread makes the call and is cancelled so many microseconds after it has begun.
void cancel_after(unsigned delay, int (*call)(), int type) {
  Victim victim{call, type};
  begun = 0;
  pthread_t thread;
  EXPECT_EQUAL(pthread_create(&thread, nullptr, be_cancelled, &victim), 0);
  AWAIT(begun == 1, 30);
  usleep(delay);
  EXPECT_EQUAL(pthread_cancel(thread), 0);
  void* result = nullptr;
  EXPECT_EQUAL(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
}

// With asynchronous cancellation the thread has to be inside: on its way into a call, as in any function that is not
// made for it, it may be cut short at an instruction from which its stack cannot be unwound.
constexpr unsigned kInside = 2'000;

enum class Repeats { no, yes };  // the call returns now and then, and is made again

void cancel_in(int (*call)(), Repeats repeats = Repeats::no) {
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    for (const unsigned delay : kDelays) {
      if (type == PTHREAD_CANCEL_ASYNCHRONOUS && (repeats == Repeats::yes || delay < kInside)) continue;
      cancel_after(delay, call, type);
    }
  }
}

// The context is as it was: the lock is free, waits end, messages go and come.
void goes_on() {
  static long word = 0;
  static const std::vector<long*> words = exchange(&word);
  const long sent = task + 7;
  lapi_cntr_t done{};
  CALL(LAPI_Put(handle, right(), sizeof sent, words[right()], const_cast<long*>(&sent), nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(word, left() + 7);
  CALL(LAPI_Gfence(handle));
}

int wait_for_counter() { return LAPI_Waitcntr(handle, &never, 1, nullptr); }
int wait_patiently() { return LAPI_Nopoll_wait(handle, &never, 1, nullptr); }
int fence() { return LAPI_Fence(handle); }
int poll_messages() {
  for (;;) {
    lapi_msg_info_t info;
    const int code = LAPI_Msgpoll(handle, 1'000'000'000, &info);
    if (code != LAPI_SUCCESS) return code;
  }
}
int probe() {
  for (;;) {
    if (const int code = LAPI_Probe(handle)) return code;
  }
}

// In polling mode the task still has to move.
template <class Done>
void probe_until(Done done) {
  while (!done()) CALL(LAPI_Probe(handle));
}

void counters() {
  cancel_in(wait_for_counter);
  goes_on();
  cancel_in(wait_patiently);
  goes_on();
}

// Several threads wait; one ends, the others find what they wait for.
void* wait_and_say(void* argument) {
  auto* counter = static_cast<lapi_cntr_t*>(argument);
  CALL(LAPI_Waitcntr(handle, counter, 1, nullptr));
  return nullptr;
}

void one_of_several() {
  lapi_cntr_t counter{};
  pthread_t other;
  EXPECT_EQUAL(pthread_create(&other, nullptr, wait_and_say, &counter), 0);
  cancel_in(wait_for_counter);
  CALL(LAPI_Setcntr(handle, &counter, 1));
  EXPECT_EQUAL(pthread_join(other, nullptr), 0);
  goes_on();
}

void polls() {
  cancel_in(poll_messages, Repeats::yes);
  goes_on();
  cancel_in(probe, Repeats::yes);
  goes_on();
}

// Who has been cancelled before the call ends in it although there is nothing to wait for.
lapi_cntr_t reached{};
int wait_for_what_is_there() { return LAPI_Waitcntr(handle, &reached, 1, nullptr); }
int wait_patiently_for_what_is_there() { return LAPI_Nopoll_wait(handle, &reached, 1, nullptr); }
int probe_once() { return LAPI_Probe(handle); }
int poll_once() {
  lapi_msg_info_t info;
  return LAPI_Msgpoll(handle, 0, &info);
}

void* be_cancelled_before(void* argument) {
  pthread_cancel(pthread_self());
  return be_cancelled(argument);
}

void pending() {
  CALL(LAPI_Setcntr(handle, &reached, 1));
  for (int (*const call)() : {wait_for_what_is_there, wait_patiently_for_what_is_there, probe_once, poll_once, fence}) {
    Victim victim{call, PTHREAD_CANCEL_DEFERRED};
    pthread_t thread;
    EXPECT_EQUAL(pthread_create(&thread, nullptr, be_cancelled_before, &victim), 0);
    void* result = nullptr;
    EXPECT_EQUAL(pthread_join(thread, &result), 0);
    EXPECT(result == PTHREAD_CANCELED);
  }
  int value = 0;
  CALL(LAPI_Getcntr(handle, &reached, &value));
  EXPECT_EQUAL(value, 1);
  goes_on();
}

// The right neighbour does not take it as long as held_back is true there.
void send_what_is_held(lapi_cntr_t& done) {
  held_back = true;
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kHeld), nullptr, 0, nullptr, 0, nullptr, nullptr, &done));
}

void fences() {
  static lapi_cntr_t ended{};
  const std::vector<lapi_cntr_t*> ended_there = exchange(&ended);
  lapi_cntr_t done{};
  send_what_is_held(done);
  cancel_in(fence);
  CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, ended_there[right()], nullptr, nullptr));
  CALL(LAPI_Waitcntr(handle, &ended, 1, nullptr));  // the left neighbour needs its message no longer
  held_back = false;
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  goes_on();
}

// ---- collective calls ----

std::vector<void*> unfilled;

int global_fence() { return LAPI_Gfence(handle); }
int exchange_addresses() { return LAPI_Address_init(handle, nullptr, unfilled.data()); }

// The others come when task 0's thread has ended in the call; it counts as one that task 0 has made.
void collective(int (*call)()) {
  static lapi_cntr_t go{};
  static const std::vector<lapi_cntr_t*> there = exchange(&go);
  for (const int type : {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS}) {
    for (const unsigned delay : {2'000u, 60'000u}) {
      goes_on();
      if (task == 0) {
        cancel_after(delay, call, type);
        cancel_after(delay, call, type);  // it waits for its turn: the one before has not ended
        for (int other = 1; other < tasks; ++other) {
          const auto to = static_cast<unsigned>(other);
          CALL(LAPI_Put(handle, to, 0, nullptr, nullptr, there[to], nullptr, nullptr));
        }
      } else {
        CALL(LAPI_Waitcntr(handle, &go, 1, nullptr));
        CALL(call());
        CALL(call());
      }
    }
  }
  goes_on();
}

void collectives() {
  unfilled.resize(static_cast<std::size_t>(tasks));
  collective(global_fence);
  collective(exchange_addresses);
}

// LAPI_Gfence waits for the task's own messages first.
void behind_a_fence() {
  static lapi_cntr_t ended{};
  const std::vector<lapi_cntr_t*> ended_there = exchange(&ended);
  lapi_cntr_t done{};
  send_what_is_held(done);
  if (task == 0) cancel_after(60'000, global_fence, PTHREAD_CANCEL_DEFERRED);
  CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, ended_there[right()], nullptr, nullptr));
  CALL(LAPI_Waitcntr(handle, &ended, 1, nullptr));
  held_back = false;
  if (task != 0) CALL(LAPI_Gfence(handle));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  goes_on();
}

// ---- a cancellation that waits ----

std::atomic<int> code_of_call{-1};
lapi_handle_t second = 0;

void* end_context(void*) {
  pthread_cancel(pthread_self());
  code_of_call = LAPI_Term(second);
  pthread_testcancel();
  return nullptr;
}

void* begin_message(void*) {
  pthread_cancel(pthread_self());
  const auto me = static_cast<unsigned>(task);
  code_of_call =
      LAPI_Amsend(handle, me, reinterpret_cast<void*>(kPointed), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr) +
      LAPI_Put(handle, right(), 0, nullptr, nullptr, nullptr, nullptr, nullptr);
  pthread_testcancel();
  return nullptr;
}

void completes(void* (*body)(void*)) {
  code_of_call = -1;
  pthread_t thread;
  EXPECT_EQUAL(pthread_create(&thread, nullptr, body, nullptr), 0);
  void* result = nullptr;
  EXPECT_EQUAL(pthread_join(thread, &result), 0);
  EXPECT(result == PTHREAD_CANCELED);
  EXPECT_EQUAL(code_of_call.load(), LAPI_SUCCESS);
}

// Calls that do not wait, LAPI_Term and handlers are carried out as a whole.
void whole_calls() {
  completes(begin_message);
  EXPECT_EQUAL(pointed.load(), 1);
  goes_on();
}

void whole_end() {
  CALL(open_context(&second, cleared_info()));
  CALL(LAPI_Gfence(second));
  completes(end_context);
  RETURNS(LAPI_Qenv(second, TASK_ID, &task), LAPI_ERR_HNDL_INVALID);
  goes_on();
}

// A task whose thread ends inside a call that may have a handler on its stack.
void handlers() {
  pointed = 0;
  CALL(LAPI_Gfence(handle));
  constexpr int kMessages = 200;
  Victim victim{wait_for_counter, PTHREAD_CANCEL_DEFERRED};
  for (int turn = 0; turn < kMessages; ++turn) {
    pthread_t thread;
    EXPECT_EQUAL(pthread_create(&thread, nullptr, be_cancelled, &victim), 0);
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kPointed), nullptr, 0, nullptr, 0, nullptr, nullptr,
                     nullptr));
    EXPECT_EQUAL(pthread_cancel(thread), 0);
    EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  }
  probe_until([] { return pointed == kMessages; });
  goes_on();
}

// ---- calls that send, and wait for room ----

constexpr std::size_t kLong = 20'000;  // more than is copied: few of them have room
std::atomic<long> sent{0};

void* send_for_ever(void*) {
  static const std::vector<char> data(kLong);
  for (unsigned calls = 1;; ++calls) {
    CALL(LAPI_Amsend(handle, right(), reinterpret_cast<void*>(kPointed), nullptr, 0, const_cast<char*>(data.data()),
                     data.size(), nullptr, nullptr, nullptr));
    ++sent;
    if (calls % 64 == 0) pthread_testcancel();  // the last of the threads may always find room
  }
}

// Whichever thread makes progress begins what others wait to send: as many messages arrive as calls have returned.
void sends() {
  static long sent_there = 0;
  const std::vector<long*> there = exchange(&sent_there);
  pointed = 0;
  CALL(LAPI_Gfence(handle));
  for (int turn = 0; turn < 150; ++turn) {
    pthread_t threads[4];
    for (pthread_t& thread : threads) EXPECT_EQUAL(pthread_create(&thread, nullptr, send_for_ever, nullptr), 0);
    // Where the other task is at its end already, four senders leave this thread the lock each few milliseconds only.
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
    for (int probes = 0; probes < 20 * (1 + turn % 7) && std::chrono::steady_clock::now() < end; ++probes) {
      CALL(LAPI_Probe(handle));
    }
    for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_cancel(thread), 0);
    for (const pthread_t thread : threads) {
      probe_until([thread] { return pthread_tryjoin_np(thread, nullptr) == 0; });
    }
  }
  long all = sent;
  lapi_cntr_t done{};
  CALL(LAPI_Put(handle, right(), sizeof all, there[right()], &all, nullptr, nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(pointed.load(), sent_there);
}

}  // namespace

int main(int count, char** arguments) {
  lapi_info_t info = cleared_info();
  info.lib_vers = L2_LIB;
  begin(count, arguments, info);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(held_handler), kHeld));
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(pointed_handler), kPointed));
  CALL(LAPI_Gfence(handle));
  goes_on();
  run("waits for a counter are cancelled", 60, counters);
  run("one of several that wait is cancelled", 60, one_of_several);
  run("LAPI_Probe and LAPI_Msgpoll in a loop are cancelled", 60, polls);
  run("who is cancelled already ends in a call that need not wait", 60, pending);
  run("fences are cancelled", 60, fences);
  run("a task takes part in the collective call that its thread is cancelled in", 60, collectives);
  run("a task takes part in a LAPI_Gfence that still waited for its own messages", 60, behind_a_fence);
  run("calls that do not wait are carried out as a whole", 60, whole_calls);
  const bool alone = !words.empty() && words[0] == "alone";
  if (!alone) run("LAPI_Term is carried out as a whole", 60, whole_end);
  run("what a thread has not sent when it is cancelled does not arrive", 60, sends);
  run("handlers are carried out as a whole", 60, handlers);
  return finish();
}
