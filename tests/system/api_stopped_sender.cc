// Over shared memory all tasks of a node hand their packets to a task through one queue. A task that is stopped in the
// middle of that holds up the others behind it: until TIMEOUT, when it is given up, and no healthy task is blamed.
//
//   lapirun -n 3 api_stopped_sender [interrupt|polling] [seldom]     with LAPI_USE_SHM=only
//
// seldom: task 0 is one that computes, and makes a call now and then.
// Task 1 puts into task 0 without end, and task 2 stops it again and again until task 0 answers task 2 no more.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <random>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kTimeout = 10;  // seconds
constexpr unsigned kWatched = 0, kStopped = 1;
constexpr unsigned long kLong = 12000;  // bytes of the puts among which one is stopped

struct Window {
  lapi_cntr_t ended;
  int word;
  unsigned char area[kLong];
} window;
Window* windows[3];
pid_t processes[3];
std::atomic<int> blamed[3];

void count_error(lapi_handle_t*, int*, lapi_err_t*, int*, int* about) {
  if (*about >= 0 && *about < 3) ++blamed[*about];
}

bool answers_within(double seconds, lapi_cntr_t& answered, int& word) {
  CALL(LAPI_Get(handle, kWatched, sizeof word, &windows[kWatched]->word, &word, nullptr, &answered));
  for (int looks = 0, value = 0; looks < seconds * 5000; ++looks) {
    CALL(LAPI_Probe(handle));
    CALL(LAPI_Getcntr(handle, &answered, &value));
    if (value == 1) return true;
    usleep(200);
  }
  return false;
}

// Until task 1 has been stopped where it holds up task 0. `answered` is the counter of the get that waits.
void stop_in_the_middle(lapi_cntr_t& answered, int& word) {
  std::mt19937 random(5);
  for (int tries = 0; tries < 10'000; ++tries) {
    answered = {};
    EXPECT_EQUAL(kill(processes[kStopped], SIGSTOP), 0);
    usleep(3000);
    if (!answers_within(1, answered, word)) return;
    EXPECT_EQUAL(kill(processes[kStopped], SIGCONT), 0);
    usleep(random() % 3000);
  }
  fail("task 1 was never stopped in the middle");
}

void others_go_on() {
  lapi_cntr_t answered{};
  int word = 0;
  stop_in_the_middle(answered, word);
  CALL(LAPI_Waitcntr(handle, &answered, 1, nullptr));
  EXPECT_EQUAL(word, 77);
  lapi_cntr_t done{};
  for (int number = 0; number < 5000; ++number) {
    CALL(LAPI_Put(handle, kWatched, sizeof number, &windows[kWatched]->word, &number, nullptr, nullptr, &done));
  }
  CALL(LAPI_Waitcntr(handle, &done, 5000, nullptr));
  EXPECT_EQUAL(blamed[kWatched].load(), 0);
  EXPECT_EQUAL(kill(processes[kStopped], SIGCONT), 0);
  CALL(LAPI_Put(handle, kWatched, 0, nullptr, nullptr, &windows[kWatched]->ended, nullptr, nullptr));
  CALL(LAPI_Waitcntr(handle, &window.ended, 1, nullptr));  // or task 0 would miss this one
}

// It learns that it was given up, and may go on with task 0.
void put_until_given_up() {
  static unsigned char data[kLong];
  while (blamed[kWatched] == 0) {
    LAPI_Put(handle, kWatched, kLong, windows[kWatched]->area, data, nullptr, nullptr, nullptr);
    CALL(LAPI_Probe(handle));
  }
  CALL(LAPI_Put(handle, kWatched, 0, nullptr, nullptr, &windows[kWatched]->ended, nullptr, nullptr));
  LAPI_Fence(handle);  // task 0 may have ended
}

void watch() {
  window.word = 77;
  CALL(LAPI_Gfence(handle));
  const bool seldom = !words.empty() && words[0] == "seldom";
  for (int ended = 0; seldom && ended < 2; usleep(100)) {
    CALL(LAPI_Probe(handle));
    CALL(LAPI_Getcntr(handle, &window.ended, &ended));
  }
  CALL(LAPI_Waitcntr(handle, &window.ended, 2, nullptr));
  EXPECT_EQUAL(window.word, 4999);
  EXPECT_EQUAL(blamed[2].load(), 0);
  EXPECT(blamed[kStopped] >= 1);
  CALL(LAPI_Put(handle, 2, 0, nullptr, nullptr, &windows[2]->ended, nullptr, nullptr));
  LAPI_Fence(handle);  // task 2 may have ended
  std::printf("ok 1 - %s\n1..1\n", name);
}

}  // namespace

int main(int count, char** arguments) {
  read_words(count, arguments);
  std::snprintf(name, sizeof name, "a task that is stopped while it sends holds up nobody for long");
  number = 1;
  limit(150);
  lapi_info_t info = cleared_info();
  info.err_hndlr = count_error;
  CALL(open_context(&handle, info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  if (polling) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  CALL(LAPI_Senv(handle, TIMEOUT, kTimeout));
  CALL(LAPI_Address_init(handle, &window, reinterpret_cast<void**>(windows)));
  void* numbers[3];
  CALL(LAPI_Address_init(handle, reinterpret_cast<void*>(static_cast<std::intptr_t>(getpid())), numbers));
  for (int i = 0; i < 3; ++i) processes[i] = static_cast<pid_t>(reinterpret_cast<std::intptr_t>(numbers[i]));
  if (task == kWatched) {
    watch();
  } else {
    CALL(LAPI_Gfence(handle));
    task == kStopped ? put_until_given_up() : others_go_on();
  }
  std::fflush(stdout);
  std::exit(0);  // not in order: the job has lost a task
}
