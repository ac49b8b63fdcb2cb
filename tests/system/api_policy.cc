// The dataplane thread's policy and place, as OPENLAPI_THREAD_POLICY and OPENLAPI_THREAD_CPU say: a target that is
// away, asleep in one system call or computing, is served; the thread sleeps or does not; it has its name and its
// processors; the program's own affinity and signal mask stay as they are.
//
//   lapirun -n 2 api_policy interrupt [pinned]
// pinned: OPENLAPI_THREAD_CPU lists all processors.
#include <sched.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr int kEach = 100;

struct Window {
  std::atomic<int> words[kEach];
  std::atomic<int> sum{0};
  int fixed = 4711;
  lapi_cntr_t arrived{};
} window;
std::vector<Window*> windows;
std::vector<lapi_long_t> processes;
std::vector<int> listed;
cpu_set_t processors;  // of the program, before LAPI_Init
sigset_t signals;

sigset_t only_user_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  return set;
}

// The target is away until task 1 sends a signal, which waits until it is asked for.
void sleep_away() {
  const sigset_t set = only_user_signal();
  int which = 0;
  EXPECT_EQUAL(sigwait(&set, &which), 0);
}

void compute_away() {
  const sigset_t set = only_user_signal();
  const timespec at_once{};
  volatile double sink = 1;
  while (sigtimedwait(&set, nullptr, &at_once) != SIGUSR1) {
    for (int step = 0; step < 1'000'000; ++step) sink = sink * 1.0000001 + 1;
  }
}

// One after the other, so that the thread may fall asleep before each, and then all at once.
void send_all() {
  static int values[kEach], previous[kEach], fetched[kEach];
  lapi_cntr_t completed{}, returned{};
  int one = 1;
  for (const bool together : {false, true}) {
    for (int index = 0; index < kEach; ++index) {
      values[index] = index + 1;
      CALL(LAPI_Put(handle, 0, sizeof(int), &windows[0]->words[index], &values[index], &windows[0]->arrived, nullptr,
                    &completed));
      if (!together) CALL(LAPI_Waitcntr(handle, &completed, 1, nullptr));
      CALL(LAPI_Get(handle, 0, sizeof(int), &windows[0]->fixed, &fetched[index], nullptr, &returned));
      if (!together) CALL(LAPI_Waitcntr(handle, &returned, 1, nullptr));
      CALL(LAPI_Rmw(handle, FETCH_AND_ADD, 0, reinterpret_cast<int*>(&windows[0]->sum), &one, &previous[index],
                    &returned));
      if (!together) CALL(LAPI_Waitcntr(handle, &returned, 1, nullptr));
    }
    if (together) CALL(LAPI_Waitcntr(handle, &completed, kEach, nullptr));
    if (together) CALL(LAPI_Waitcntr(handle, &returned, 2 * kEach, nullptr));
    for (int index = 0; index < kEach; ++index) {
      EXPECT_EQUAL(fetched[index], 4711);
      fetched[index] = 0;
    }
  }
}

template <class Away>
void served(Away away) {
  if (task == 0) {
    for (auto& word : window.words) word = 0;
    window.sum = 0;
  }
  CALL(LAPI_Gfence(handle));
  if (task == 1) {
    send_all();
    EXPECT_EQUAL(kill(static_cast<pid_t>(processes[0]), SIGUSR1), 0);
  }
  if (task != 0) return;
  away();
  for (int index = 0; index < kEach; ++index) EXPECT_EQUAL(window.words[index].load(), index + 1);
  EXPECT_EQUAL(window.sum.load(), 2 * kEach);
  CALL(LAPI_Waitcntr(handle, &window.arrived, 2 * kEach, nullptr));
}

std::string first_line(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string text;
  std::getline(in, text);
  return text;
}

std::vector<std::filesystem::path> threads_named(const char* wanted) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    if (first_line(entry.path() / "comm") == wanted) found.push_back(entry.path());
  }
  return found;
}

// The folder of /proc of the only thread with this name. LAPI_Init does not wait until its threads have run, which is
// when they take their names and places.
std::filesystem::path thread_named(const char* wanted) {
  AWAIT(!threads_named(wanted).empty(), 20);
  const std::vector<std::filesystem::path> found = threads_named(wanted);
  EXPECT_EQUAL(found.size(), 1u);
  return found.front();
}

bool asleep(const std::filesystem::path& thread) {
  const std::string stat = first_line(thread / "stat");
  return stat.at(stat.rfind(')') + 2) == 'S';
}

double milliseconds_used(const std::filesystem::path& thread) {
  return std::stod(first_line(thread / "schedstat")) * 1e-6;
}

long sleeps(const std::filesystem::path& thread) {
  std::ifstream in(thread / "status");
  for (std::string text; std::getline(in, text);) {
    if (text.starts_with("voluntary_ctxt_switches:")) return std::stol(text.substr(text.find(':') + 1));
  }
  fail("no count of context switches");
}

void thread_obeys_its_policy() {
  const std::filesystem::path thread = thread_named("lapi-dataplane");
  const char* policy = std::getenv("OPENLAPI_THREAD_POLICY");
  CALL(LAPI_Gfence(handle));
  if (policy == nullptr || std::strcmp(policy, "spin") != 0) {
    AWAIT(asleep(thread), 20);
    return;
  }
  double start = milliseconds_used(thread);
  AWAIT(milliseconds_used(thread) > start + 10, 20);  // it is in charge
  const long before = sleeps(thread);
  start = milliseconds_used(thread);
  AWAIT(milliseconds_used(thread) > start + 10, 20);
  EXPECT_EQUAL(sleeps(thread), before);
}

void thread_rests_in_polling_mode() {
  const std::filesystem::path thread = thread_named("lapi-dataplane");
  CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  AWAIT(asleep(thread), 20);
  const long before = sleeps(thread);
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  // In interrupt mode it would look round every 250 us meanwhile.
  for (const timespec begin = now; now.tv_sec - begin.tv_sec + 1e-9 * (now.tv_nsec - begin.tv_nsec) < 0.05;) {
    CALL(LAPI_Probe(handle));
    clock_gettime(CLOCK_MONOTONIC, &now);
  }
  EXPECT(sleeps(thread) <= before + 20);  // to change the mode and get the lock for that
  CALL(LAPI_Senv(handle, INTERRUPT_SET, 1));
  AWAIT(sleeps(thread) > before || !asleep(thread), 20);
}

void thread_has_its_place() {
  const pid_t thread = std::stoi(thread_named("lapi-dataplane").filename().string());
  thread_named("lapi-handlers");
  cpu_set_t wanted = processors;
  if (!listed.empty()) {
    CPU_ZERO(&wanted);
    CPU_SET(listed[static_cast<std::size_t>(task) % listed.size()], &wanted);
  }
  cpu_set_t own;
  EXPECT_EQUAL(sched_getaffinity(thread, sizeof own, &own), 0);
  EXPECT(CPU_EQUAL(&own, &wanted));
}

void program_keeps_its_own() {
  cpu_set_t now;
  EXPECT_EQUAL(sched_getaffinity(0, sizeof now, &now), 0);
  EXPECT(CPU_EQUAL(&now, &processors));
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  for (int signal = 1; signal < NSIG; ++signal) {
    if (sigismember(&signals, signal) >= 0) EXPECT_EQUAL(sigismember(&blocked, signal), sigismember(&signals, signal));
  }
}

void look_at_the_program() {
  const sigset_t set = only_user_signal();
  sigprocmask(SIG_BLOCK, &set, nullptr);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals);
  sched_getaffinity(0, sizeof processors, &processors);
}

void list_processors() {
  std::string text;
  for (int processor = CPU_SETSIZE - 1; processor >= 0; --processor) {
    if (!CPU_ISSET(processor, &processors)) continue;
    listed.push_back(processor);
    if (!text.empty()) text += ",";
    text += std::to_string(processor);
  }
  setenv("OPENLAPI_THREAD_CPU", text.c_str(), 1);
}

}  // namespace

int main(int count, char** arguments) {
  look_at_the_program();
  if (count > 2 && std::strcmp(arguments[2], "pinned") == 0) list_processors();
  begin(count, arguments);
  processes.resize(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init64(handle, static_cast<lapi_long_t>(getpid()), processes.data()));
  windows = exchange(&window);
  run("the program keeps its affinity and signal mask", 30, program_keeps_its_own);
  run("the dataplane thread has its name and its place", 30, thread_has_its_place);
  run("a target that sleeps is served", 60, [] { served(sleep_away); });
  run("a target that computes is served", 60, [] { served(compute_away); });
  run("the dataplane thread sleeps or spins as its policy says", 60, thread_obeys_its_policy);
  run("the dataplane thread rests in polling mode", 60, thread_rests_in_polling_mode);
  run("a target that sleeps is served afterwards", 60, [] { served(sleep_away); });
  return finish();
}
