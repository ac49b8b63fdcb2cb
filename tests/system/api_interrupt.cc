// Interrupt mode: while the target sleeps 5 s in a system call, or computes 5 s without a call, a thousand puts, gets,
// read-modify-writes and messages complete. Polling mode: none of it changes the target's memory or runs its handlers
// before it calls LAPI again.
#include <time.h>

#include <atomic>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kEach = 1000;
constexpr double kAway = 5.0;  // seconds
constexpr int kHandler = 4;

struct Window {
  std::atomic<int> words[kEach];
  std::atomic<int> sum{0};
  std::atomic<int> headers{0};
  std::atomic<int> completions{0};
  std::atomic<int> messages[kEach];
  std::atomic<int> ready{0};  // round number: the others may begin
  lapi_cntr_t arrived{};
} window;
std::vector<Window*> windows;

void completed(lapi_handle_t*, void*) { ++window.completions; }

void* header_handler(lapi_handle_t*, void* header, uint*, ulong*, compl_hndlr_t** completion, void**) {
  ++window.headers;
  *completion = completed;
  int index = 0;
  std::memcpy(&index, header, sizeof index);
  return &window.messages[index];
}

// A flag outside LAPI: task 0 has left its last call. Task 1 takes it down, however late it leaves its own call: over a
// network that loses packets it may need an answer from task 0, which gives none while it is away.
std::string flag;

void agree_on_flag() {
  std::vector<lapi_long_t> processes(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, static_cast<lapi_long_t>(getpid()), processes.data()));
  flag = "/tmp/api_interrupt." + std::to_string(processes[0]);
}

void raise_flag() {
  std::FILE* file = std::fopen(flag.c_str(), "w");
  EXPECT(file != nullptr);
  std::fclose(file);
}

void take_flag() { AWAIT(unlink(flag.c_str()) == 0, 30); }

double now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// In one system call, signals or not.
void sleep_away() {
  timespec rest{static_cast<time_t>(kAway), 0};
  while (nanosleep(&rest, &rest) != 0) {
  }
}

void compute_away() {
  const double until = now() + kAway;
  volatile double sink = 1;
  while (now() < until) {
    for (int step = 0; step < 10000; ++step) sink = sink * 1.0000001 + 1;
  }
}

struct Sent {
  lapi_cntr_t completed{};
  lapi_cntr_t fetched{};
  int values[kEach];
  int previous[kEach];
  int fetched_values[kEach];
};
Sent sent;

// Task 1 sends a thousand of everything to task 0.
void send_all() {
  int one = 1;
  for (int index = 0; index < kEach; ++index) {
    sent.values[index] = index + 1;
    sent.previous[index] = sent.fetched_values[index] = -1;
    CALL(LAPI_Put(handle, 0, sizeof(int), &windows[0]->words[index], &sent.values[index], &windows[0]->arrived, nullptr,
                  &sent.completed));
    CALL(LAPI_Get(handle, 0, sizeof(int), &windows[0]->ready, &sent.fetched_values[index], nullptr, &sent.fetched));
    CALL(LAPI_Rmw(handle, FETCH_AND_ADD, 0, reinterpret_cast<int*>(&windows[0]->sum), &one, &sent.previous[index],
                  &sent.fetched));
    CALL(LAPI_Amsend(handle, 0, reinterpret_cast<void*>(kHandler), &index, sizeof index, &sent.values[index],
                     sizeof(int), &windows[0]->arrived, nullptr, &sent.completed));
  }
}

void check_origin(int round) {
  CALL(LAPI_Waitcntr(handle, &sent.completed, 2 * kEach, nullptr));
  CALL(LAPI_Waitcntr(handle, &sent.fetched, 2 * kEach, nullptr));
  bool seen[kEach] = {};
  for (int index = 0; index < kEach; ++index) {
    EXPECT_EQUAL(sent.fetched_values[index], round);
    const int previous = sent.previous[index];
    EXPECT(previous >= 0 && previous < kEach && !seen[previous]);
    seen[previous] = true;
  }
}

void clear_window() {
  for (auto& word : window.words) word = 0;
  for (auto& message : window.messages) message = 0;
  window.sum = window.headers = window.completions = 0;
}

void everything_is_here() {
  for (int index = 0; index < kEach; ++index) {
    EXPECT_EQUAL(window.words[index].load(), index + 1);
    EXPECT_EQUAL(window.messages[index].load(), index + 1);
  }
  EXPECT_EQUAL(window.sum.load(), kEach);
  EXPECT_EQUAL(window.headers.load(), kEach);
  EXPECT_EQUAL(window.completions.load(), kEach);
  CALL(LAPI_Waitcntr(handle, &window.arrived, 2 * kEach, nullptr));
}

void nothing_is_here() {
  for (int index = 0; index < kEach; ++index) EXPECT(window.words[index] == 0 && window.messages[index] == 0);
  EXPECT(window.sum == 0 && window.headers == 0 && window.completions == 0);
  EXPECT_EQUAL(counter_value(window.arrived), 0);
}

// Task 0 is away; the others work. In interrupt mode they are through long before it returns.
template <class Away>
void interrupted(int round, Away away) {
  if (task == 0) {
    clear_window();
    window.ready = round;
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    away();
    everything_is_here();
  }
  if (task == 1) {
    const double began = now();
    send_all();
    check_origin(round);
    const double took = now() - began;
    if (took > kAway - 1) fail("1000 of each took as long as the target was away");
  }
}

// Nothing changes at the target until it calls LAPI; then everything arrives.
template <class Away>
void polled(int round, Away away) {
  if (task == 0) {
    clear_window();
    window.ready = round;
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    raise_flag();
    away();
    nothing_is_here();
    CALL(LAPI_Waitcntr(handle, &window.arrived, 2 * kEach, nullptr));
    CALL(LAPI_Setcntr(handle, &window.arrived, 2 * kEach));
    everything_is_here();
  }
  if (task == 1) {
    take_flag();
    send_all();
    check_origin(round);
  }
}

// From polling to interrupt mode and back while messages wait.
void switched(int round) {
  CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  EXPECT_EQUAL(query(INTERRUPT_SET), 0);
  if (task == 0) {
    clear_window();
    window.ready = round;
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) {
    raise_flag();
    timespec rest{1, 0};
    while (nanosleep(&rest, &rest) != 0) {
    }
    nothing_is_here();
    CALL(LAPI_Senv(handle, INTERRUPT_SET, 1));
    EXPECT_EQUAL(query(INTERRUPT_SET), 1);
    AWAIT(window.completions == kEach && window.sum == kEach, 20);
    everything_is_here();
  }
  if (task == 1) {
    take_flag();
    send_all();
    check_origin(round);
  }
  CALL(LAPI_Senv(handle, INTERRUPT_SET, polling ? 0 : 1));
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  CALL(LAPI_Addr_set(handle, reinterpret_cast<void*>(&header_handler), kHandler));
  windows = exchange(&window);
  agree_on_flag();
  if (polling) {
    run("nothing changes while a polling target sleeps", 60, [] { polled(1, sleep_away); });
    run("nothing changes while a polling target computes", 60, [] { polled(2, compute_away); });
  } else {
    run("all completes while the target sleeps", 60, [] { interrupted(1, sleep_away); });
    run("all completes while the target computes", 60, [] { interrupted(2, compute_away); });
  }
  run("the mode changes while messages wait", 60, [] { switched(3); });
  return finish();
}
