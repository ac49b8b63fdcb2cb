// Many contexts in one task, opened and closed again and again, used at once and by several threads; stale handles.
#include <dirent.h>
#include <pthread.h>

#include <atomic>
#include <fstream>
#include <memory>

#include "tests/system/api_case.h"

using namespace api_case;

namespace {

constexpr unsigned kInstances = 16;

struct Window {
  int word = 0;
  std::atomic<int> sum{0};
  lapi_cntr_t arrived{};
};

lapi_handle_t open_instance(unsigned instance) {
  lapi_info_t info = cleared_info();
  info.instance_no = instance;
  lapi_handle_t opened = 0;
  const UdpAddresses addresses(info);
  CALL(LAPI_Init(&opened, &info));
  if (instance != 0) EXPECT_EQUAL(info.instance_no, instance);
  CALL(LAPI_Senv(opened, ERROR_CHK, 1));
  if (polling) CALL(LAPI_Senv(opened, INTERRUPT_SET, 0));
  return opened;
}

std::vector<Window*> exchange_on(lapi_handle_t which, Window* own) {
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(which, own, table.data()));
  std::vector<Window*> typed;
  for (void* entry : table) typed.push_back(static_cast<Window*>(entry));
  return typed;
}

// Something of everything on a context.
void use(lapi_handle_t which, int number_of_context) {
  Window window;
  const std::vector<Window*> all = exchange_on(which, &window);
  int value = number_of_context * 1000 + task;
  int one = 1;
  lapi_cntr_t done{};
  CALL(LAPI_Put(which, right(), sizeof value, &all[right()]->word, &value, &all[right()]->arrived, nullptr, &done));
  CALL(LAPI_Rmw(which, FETCH_AND_ADD, 0, reinterpret_cast<int*>(&all[0]->sum), &one, nullptr, &done));
  CALL(LAPI_Waitcntr(which, &done, 2, nullptr));
  CALL(LAPI_Waitcntr(which, &window.arrived, 1, nullptr));
  EXPECT_EQUAL(window.word, number_of_context * 1000 + left());
  CALL(LAPI_Gfence(which));
  if (task == 0) EXPECT_EQUAL(window.sum.load(), tasks);
}

// Work on all of them at the same time, waited for in the same order everywhere: in polling mode a context moves only
// in its own calls, and a task that is through must still have served the others.
void use_all_at_once(const std::vector<lapi_handle_t>& handles) {
  Window window;
  const std::vector<Window*> all = exchange_on(handle, &window);
  std::vector<lapi_cntr_t> done(handles.size());
  std::memset(static_cast<void*>(done.data()), 0, done.size() * sizeof(lapi_cntr_t));
  int one = 1;
  for (int turn = 0; turn < 50; ++turn) {
    for (std::size_t index = 0; index < handles.size(); ++index) {
      CALL(LAPI_Rmw(handles[index], FETCH_AND_ADD, 0, reinterpret_cast<int*>(&all[0]->sum), &one, nullptr,
                    &done[index]));
    }
  }
  for (std::size_t index = 0; index < handles.size(); ++index) {
    CALL(LAPI_Waitcntr(handles[index], &done[index], 50, nullptr));
    CALL(LAPI_Gfence(handles[index]));
  }
  CALL(LAPI_Gfence(handle));
  if (task == 0) EXPECT_EQUAL(window.sum.load(), 50 * tasks * static_cast<int>(handles.size()));
}

// A token goes round on one handle and back on another one; each task goes on to the other handle at once. In polling
// mode what was lost on the handle that it has left comes all the same.
void left_for_another() {
  constexpr int kRounds = 40;
  const lapi_handle_t other = open_instance(0);
  struct Token {
    lapi_cntr_t come{}, come_back{};
  } token;
  std::vector<void*> addresses(static_cast<std::size_t>(tasks));
  CALL(LAPI_Address_init(handle, &token, addresses.data()));
  const auto send = [&](lapi_handle_t which, int to, bool back) {
    auto* const there = static_cast<Token*>(addresses[static_cast<std::size_t>(to)]);
    CALL(LAPI_Put(which, static_cast<unsigned>(to), 0, nullptr, nullptr, back ? &there->come_back : &there->come,
                  nullptr, nullptr));
  };
  for (int round = 0; round < kRounds; ++round) {
    if (task != 0) CALL(LAPI_Waitcntr(handle, &token.come, 1, nullptr));
    if (task + 1 < tasks) send(handle, task + 1, false);
    if (task + 1 < tasks) CALL(LAPI_Waitcntr(other, &token.come_back, 1, nullptr));
    if (task != 0) send(other, task - 1, true);
  }
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(other));
}

// All sixteen, one of which the frame has opened already; a seventeenth; the same one twice.
void sixteen() {
  std::vector<lapi_handle_t> handles;
  for (unsigned instance = 2; instance <= kInstances; ++instance) {
    handles.push_back(open_instance(instance % 2 == 0 ? instance : 0));
  }
  lapi_info_t info = cleared_info();
  lapi_handle_t more = 0;
  RETURNS(LAPI_Init(&more, &info), LAPI_ERR_ALL_HNDL_IN_USE);
  for (const unsigned wrong : {1u, 7u, 16u, 17u, 0xffffffffu}) {
    info = cleared_info();
    info.instance_no = wrong;
    RETURNS(LAPI_Init(&more, &info), LAPI_ERR_ALL_HNDL_IN_USE);
  }
  EXPECT_EQUAL(more, 0);
  for (std::size_t index = 0; index < handles.size(); ++index) {
    for (std::size_t other = 0; other < index; ++other) EXPECT(handles[index] != handles[other]);
    use(handles[index], static_cast<int>(index));
  }
  use_all_at_once(handles);
  for (const lapi_handle_t which : handles) {
    CALL(LAPI_Term(which));
    RETURNS(LAPI_Term(which), LAPI_ERR_HNDL_INVALID);
  }
}

unsigned entries(const char* directory) {
  DIR* open = opendir(directory);
  EXPECT(open != nullptr);
  unsigned count = 0;
  while (readdir(open) != nullptr) ++count;
  closedir(open);
  return count;
}

unsigned shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  unsigned count = 0;
  for (std::string text; std::getline(maps, text);) count += text.find("rw-s") != std::string::npos;
  return count;
}

long resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string text; std::getline(status, text);) {
    if (text.rfind("VmRSS:", 0) == 0) return std::atol(text.c_str() + 6);
  }
  return 0;
}

// Descriptors, threads and shared memory come back with LAPI_Term. They are counted where no peer can be in its next
// LAPI_Init yet: over memif it has a connection to the driver's socket. The second word of the command line says how
// many descriptors a driver may lose: memif one, seldom, when it stops while it is taking in a client.
void opened_again() {
  const auto cycle = [](int turn) {
    const lapi_handle_t which = open_instance(turn % 3 == 0 ? 5 : 0);
    use(which, turn);
    CALL(LAPI_Term(which));
    RETURNS(LAPI_Probe(which), LAPI_ERR_HNDL_INVALID);
  };
  const int turns = words.empty() ? 40 : std::stoi(words[0]);
  for (int turn = 0; turn < 5; ++turn) cycle(turn);
  CALL(LAPI_Gfence(handle));
  const unsigned descriptors = entries("/proc/self/fd");
  const unsigned threads = entries("/proc/self/task");
  const unsigned mappings = shared_mappings();
  const long memory = resident_kilobytes();
  CALL(LAPI_Gfence(handle));
  for (int turn = 0; turn < turns; ++turn) cycle(turn);
  CALL(LAPI_Gfence(handle));
  const unsigned lost = words.size() < 2 ? 0 : static_cast<unsigned>(std::stoi(words[1]));
  AWAIT(entries("/proc/self/fd") <= descriptors + lost, 10);
  AWAIT(entries("/proc/self/task") <= threads, 10);  // the kernel forgets a joined thread a little later
  EXPECT_EQUAL(shared_mappings(), mappings);
  EXPECT(resident_kilobytes() < memory + 4096);
}

void stale() {
  const lapi_handle_t first = open_instance(9);
  CALL(LAPI_Gfence(first));
  CALL(LAPI_Term(first));
  const lapi_handle_t second = open_instance(9);
  EXPECT(first != second);
  int value = 0;
  lapi_cntr_t counter{};
  lapi_msg_info_t info;
  std::vector<void*> table(static_cast<std::size_t>(tasks));
  RETURNS(LAPI_Put(first, right(), 4, &value, &value, nullptr, nullptr, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Get(first, right(), 4, &value, &value, nullptr, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Amsend(first, right(), table.data(), nullptr, 0, nullptr, 0, nullptr, nullptr, nullptr),
          LAPI_ERR_HNDL_INVALID);
  lapi_vec_t vector{LAPI_GEN_IOVECTOR, 0, nullptr, nullptr};
  RETURNS(LAPI_Putv(first, right(), &vector, &vector, nullptr, nullptr, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Getv(first, right(), &vector, &vector, nullptr, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Amsendv(first, right(), table.data(), nullptr, 0, &vector, nullptr, nullptr, nullptr),
          LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Rmw(first, SWAP, right(), &value, &value, nullptr, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Waitcntr(first, &counter, 0, nullptr), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Getcntr(first, &counter, &value), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Setcntr(first, &counter, 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Probe(first), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Msgpoll(first, 1, &info), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Fence(first), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Gfence(first), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Address_init(first, &value, table.data()), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Qenv(first, TASK_ID, &value), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Senv(first, TIMEOUT, 50), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Addr_set(first, &value, 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Addr_get(first, table.data(), 1), LAPI_ERR_HNDL_INVALID);
  RETURNS(LAPI_Term(first), LAPI_ERR_HNDL_INVALID);
  use(second, 1);
  CALL(LAPI_Term(second));
}

// ---- threads ----

constexpr int kThreads = 4;
constexpr int kTurns = 200;

Window shared_window;
std::vector<Window*> shared_windows;
std::atomic<int> thread_failures{0};

void* hammer(void* number_of_thread) {
  const auto mine = static_cast<int>(reinterpret_cast<long>(number_of_thread));
  struct Place {
    int value = 0;
    lapi_cntr_t done{};
  } place;
  const auto wrong = [](int code) { thread_failures += code != LAPI_SUCCESS; };
  int one = 1;
  const auto me = static_cast<unsigned>(task);
  for (int turn = 0; turn < kTurns; ++turn) {
    int value = mine * 1000 + turn;
    wrong(LAPI_Put(handle, me, sizeof value, &place.value, &value, nullptr, nullptr, &place.done));
    wrong(LAPI_Waitcntr(handle, &place.done, 1, nullptr));
    thread_failures += place.value != value;
    wrong(LAPI_Rmw(handle, FETCH_AND_ADD, right(), reinterpret_cast<int*>(&shared_windows[right()]->sum), &one, nullptr,
                   &place.done));
    wrong(LAPI_Waitcntr(handle, &place.done, 1, nullptr));
    if (turn % 7 == mine) wrong(LAPI_Probe(handle));
    if (turn % 50 == 0) wrong(LAPI_Fence(handle));
    lapi_msg_info_t info;
    if (turn % 11 == mine) wrong(LAPI_Msgpoll(handle, 3, &info));
  }
  return nullptr;
}

// Several user threads on one handle.
void threads_on_one_handle() {
  shared_windows = exchange(&shared_window);
  pthread_t threads[kThreads];
  for (long index = 0; index < kThreads; ++index) {
    EXPECT_EQUAL(pthread_create(&threads[index], nullptr, hammer, reinterpret_cast<void*>(index)), 0);
  }
  for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  EXPECT_EQUAL(thread_failures.load(), 0);
  CALL(LAPI_Gfence(handle));
  EXPECT_EQUAL(shared_window.sum.load(), kThreads * kTurns);
}

// Each gets one of the neighbour's counts, and none is lost.
void* take_one(void* counter) {
  for (int turn = 0; turn < kTurns; ++turn) {
    thread_failures += LAPI_Waitcntr(handle, static_cast<lapi_cntr_t*>(counter), 1, nullptr) != LAPI_SUCCESS;
  }
  return nullptr;
}

void threads_on_one_counter() {
  CALL(LAPI_Gfence(handle));
  pthread_t threads[kThreads];
  for (pthread_t& thread : threads) {
    EXPECT_EQUAL(pthread_create(&thread, nullptr, take_one, &shared_window.arrived), 0);
  }
  for (int turn = 0; turn < kThreads * kTurns; ++turn) {
    CALL(LAPI_Put(handle, right(), 0, nullptr, nullptr, &shared_windows[right()]->arrived, nullptr, nullptr));
  }
  for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  EXPECT_EQUAL(thread_failures.load(), 0);
  EXPECT_EQUAL(counter_value(shared_window.arrived), 0);
}

struct Waiter {
  lapi_handle_t which;
  std::atomic<int> code{-1};
};

void* wait_for_ever(void* argument) {
  auto* waiter = static_cast<Waiter*>(argument);
  lapi_cntr_t never{};
  waiter->code = LAPI_Waitcntr(waiter->which, &never, 1, nullptr);
  return nullptr;
}

// A thread that waits is sent home when another ends the context.
void ended_under_a_waiter() {
  for (int round = 0; round < 10; ++round) {
    Waiter waiter{open_instance(0)};
    CALL(LAPI_Gfence(waiter.which));
    pthread_t thread;
    EXPECT_EQUAL(pthread_create(&thread, nullptr, wait_for_ever, &waiter), 0);
    if (round % 2 == 0) usleep(2000);  // both orders are right: waiting already, or refused
    CALL(LAPI_Term(waiter.which));
    EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
    EXPECT_EQUAL(waiter.code.load(), LAPI_ERR_HNDL_INVALID);
  }
}

std::atomic<int> probing{0};

void* probe_until_refused(void* argument) {
  const lapi_handle_t which = *static_cast<lapi_handle_t*>(argument);
  ++probing;
  while (LAPI_Probe(which) == LAPI_SUCCESS) {
  }
  --probing;
  return nullptr;
}

// Threads that look again and again rest now and then, and the context may end meanwhile.
void ended_under_probes() {
  constexpr int kThreads = 8;
  for (int round = 0; round < 50; ++round) {
    lapi_handle_t which = open_instance(0);
    pthread_t threads[kThreads];
    for (pthread_t& thread : threads) EXPECT_EQUAL(pthread_create(&thread, nullptr, probe_until_refused, &which), 0);
    while (probing < kThreads) sched_yield();
    CALL(LAPI_Gfence(which));
    CALL(LAPI_Term(which));
    for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
  }
}

// What was sent before LAPI_Term arrives; the target is still there.
void ended_in_flight() {
  for (int round = 1; round <= 10; ++round) {
    const lapi_handle_t which = open_instance(3);
    static unsigned char large[100000];
    static Window window;
    window.word = 0;
    std::memset(large, 0, sizeof large);
    const std::vector<Window*> all = exchange_on(which, &window);
    std::vector<void*> larges(static_cast<std::size_t>(tasks));
    CALL(LAPI_Address_init(which, large, larges.data()));
    static unsigned char own[100000];
    fill(own, sizeof own, static_cast<unsigned long>(round));
    if (task == 0) {
      for (int other = 1; other < tasks; ++other) {
        const auto to = static_cast<unsigned>(other);
        CALL(LAPI_Put(which, to, 8000, larges[to], own, nullptr, nullptr, nullptr));
        CALL(LAPI_Put(which, to, sizeof round, &all[to]->word, &round, &all[to]->arrived, nullptr, nullptr));
      }
    } else {
      CALL(LAPI_Waitcntr(which, &window.arrived, 1, nullptr));
      EXPECT_EQUAL(window.word, round);
      CALL(LAPI_Term(which));
      continue;
    }
    CALL(LAPI_Term(which));
  }
}

}  // namespace

int main(int count, char** arguments) {
  begin(count, arguments);
  run("a context is left for another one", 60, left_for_another);
  run("sixteen contexts, no seventeenth", 60, sixteen);
  run("a context is opened again without a leak", 60, opened_again);
  run("a stale handle is refused everywhere", 30, stale);
  run("several threads on one handle", 60, threads_on_one_handle);
  run("several threads on one counter", 60, threads_on_one_counter);
  run("LAPI_Term sends waiting threads home", 60, ended_under_a_waiter);
  run("LAPI_Term sends threads home that probe", 60, ended_under_probes);
  run("LAPI_Term delivers what was sent", 60, ended_in_flight);
  return finish();
}
