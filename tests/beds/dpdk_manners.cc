// What DPDK does to the program that it is in: LAPI_Init and LAPI_Term again and again over the same ports; afterwards
// the calling thread may use the processors that it might use before, its signals and their handlers are as they were,
// no descriptors are left behind, and a message has arrived each time.
//
// With "further": a further context, which has interfaces of its own on the sockets of the first one, comes and goes,
// and leaves none of them behind.
// With "idle": in interrupt mode a task that does nothing sleeps, and wakes seldom.
// With "starved": a thread whose first call comes when all memory is used up goes on, and receives when there is some.
#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <rte_ethdev.h>
#include <sched.h>
#include <sys/resource.h>

#include <atomic>

#include "tests/system/api_case.h"
#include "tests/system/full_heap.h"

using namespace api_case;

namespace {

constexpr int kLives = 4;
constexpr double kIdleSeconds = 4;
constexpr double kSettleSeconds = 1;
// Who polls takes all of a core; what each wake-up costs is the machine's matter.
constexpr double kMostOfACore = 0.1;
constexpr double kMostWakeUps = 100;  // a second: the driver of memif alone has 40

void on_signal(int) {}

struct Process {
  cpu_set_t processors;
  sigset_t blocked;
  std::vector<struct sigaction> actions;

  Process() {
    EXPECT_EQUAL(sched_getaffinity(0, sizeof processors, &processors), 0);
    EXPECT_EQUAL(pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
    for (const int number : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGCHLD, SIGUSR1, SIGUSR2, SIGIO}) {
      struct sigaction action {};
      EXPECT_EQUAL(sigaction(number, nullptr, &action), 0);
      actions.push_back(action);
    }
  }

  void expect_same(const Process& before) const {
    EXPECT(CPU_EQUAL(&processors, &before.processors));
    for (int number = 1; number < NSIG; ++number) {
      EXPECT_EQUAL(sigismember(&blocked, number), sigismember(&before.blocked, number));
    }
    for (std::size_t i = 0; i < actions.size(); ++i) {
      EXPECT(actions[i].sa_handler == before.actions[i].sa_handler);
    }
  }
};

int open_descriptors() {
  int count = 0;
  DIR* const folder = opendir("/proc/self/fd");
  EXPECT(folder != nullptr);
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

void send_round() {
  static unsigned char inbox[20000];
  static lapi_cntr_t arrived{};
  const std::vector<unsigned char*> inboxes = exchange(inbox);
  const std::vector<lapi_cntr_t*> counters = exchange(&arrived);
  std::vector<unsigned char> data(sizeof inbox);
  fill(data.data(), data.size(), static_cast<unsigned long>(task));
  CALL(LAPI_Put(handle, right(), data.size(), inboxes[right()], data.data(), counters[right()], nullptr, nullptr));
  CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
  EXPECT(holds(inbox, sizeof inbox, static_cast<unsigned long>(left())));
}

void live_again_and_again() {
  const Process before;
  int descriptors = 0;
  for (int life = 0; life < kLives; ++life) {
    run(life == 0 ? "the first context" : "one more", 60, [] { send_round(); });
    Process().expect_same(before);
    CALL(LAPI_Gfence(handle));
    CALL(LAPI_Term(handle));
    Process().expect_same(before);
    if (life == 0) descriptors = open_descriptors();
    if (life + 1 == kLives) break;
    CALL(open_context(&handle, cleared_info()));
    if (polling) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  }
  // Not sooner: a peer that begins its next life before us has a connection to the driver's socket.
  AWAIT(open_descriptors() <= descriptors, 5);
  if (task == 0) std::printf("1..%d\n", number);
}

// ---- further contexts ----

constexpr int kFurtherLives = 12;
constexpr int kMostLost = 3;  // descriptors

// A put to the neighbour over a context that lives for nothing else.
void live_beside(lapi_handle_t stays) {
  struct Place {
    int word = 0;
    lapi_cntr_t arrived{};
  };
  Place own;
  CALL(open_context(&handle, cleared_info()));
  if (polling) CALL(LAPI_Senv(handle, INTERRUPT_SET, 0));
  const std::vector<Place*> all = exchange(&own);
  int value = task;
  Place* const there = all[right()];
  CALL(LAPI_Put(handle, right(), sizeof value, &there->word, &value, &there->arrived, nullptr, nullptr));
  CALL(LAPI_Waitcntr(handle, &own.arrived, 1, nullptr));
  EXPECT_EQUAL(own.word, left());
  CALL(LAPI_Gfence(handle));
  CALL(LAPI_Term(handle));
  handle = stays;
}

// Tasks begin the next life while others still end this one; only at the end nobody may: a peer that begins its next
// life before us is a descriptor more for a moment. The driver loses one when it stops while it is taking in a client,
// which is seldom.
void further() {
  const lapi_handle_t first = handle;
  const int ports = rte_eth_dev_count_total();
  live_beside(first);
  CALL(LAPI_Gfence(first));
  const int descriptors = open_descriptors();
  run("further contexts come and go beside the first", 60, [&] {
    for (int life = 0; life < kFurtherLives; ++life) live_beside(first);
    CALL(LAPI_Gfence(first));
    AWAIT(open_descriptors() <= descriptors + kMostLost, 5);
    EXPECT_EQUAL(rte_eth_dev_count_total(), ports);
  });
  run("the first one goes before the second, and comes back", 60, [&] {
    lapi_handle_t second = 0;
    CALL(open_context(&second, cleared_info()));
    if (polling) CALL(LAPI_Senv(second, INTERRUPT_SET, 0));
    CALL(LAPI_Gfence(first));
    CALL(LAPI_Term(first));
    for (int life = 0; life < kFurtherLives / 4; ++life) live_beside(second);
    CALL(LAPI_Gfence(second));
    AWAIT(open_descriptors() <= descriptors + kMostLost, 5);
    EXPECT_EQUAL(rte_eth_dev_count_total(), ports);
  });
  finish();
}

struct Usage {
  double seconds = 0;
  double wake_ups = 0;

  Usage() {
    rusage usage{};
    EXPECT_EQUAL(getrusage(RUSAGE_SELF, &usage), 0);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
      seconds += static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
    }
    wake_ups = static_cast<double>(usage.ru_nvcsw);
  }
};

void rest(double seconds) {
  timespec left{static_cast<time_t>(seconds), static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
  while (nanosleep(&left, &left) != 0) {
  }
}

void idle() {
  run("an idle task leaves the processor alone", 60, [] {
    send_round();
    CALL(LAPI_Gfence(handle));
    rest(kSettleSeconds);
    const Usage before;
    rest(kIdleSeconds);
    const Usage after;
    const double share = (after.seconds - before.seconds) / kIdleSeconds;
    const double wake_ups = (after.wake_ups - before.wake_ups) / kIdleSeconds;
    std::printf("# task %d uses %.2f %% of a core, %.0f wake-ups a second\n", task, 100 * share, wake_ups);
    std::fflush(stdout);
    EXPECT(share < kMostOfACore);
    EXPECT(wake_ups < kMostWakeUps);
  });
  finish();
}

// ---- a thread that calls first when there is no memory ----

constexpr int kProbes = 2000;

unsigned char inbox_of_thread[2000];
lapi_cntr_t arrived_for_thread{};
std::atomic<int> stage{0};

void reach(int next) {
  while (stage.load() != next) sched_yield();
}

void* call_without_memory(void*) {
  stage = 1;
  reach(2);
  for (int probe = 0; probe < kProbes; ++probe) CALL(LAPI_Probe(handle));
  stage = 3;
  reach(4);
  CALL(LAPI_Waitcntr(handle, &arrived_for_thread, 1, nullptr));
  return nullptr;
}

void starved() {
  run("a thread that begins without memory receives when there is some", 60, [] {
    const std::vector<unsigned char*> inboxes = exchange(inbox_of_thread);
    const std::vector<lapi_cntr_t*> counters = exchange(&arrived_for_thread);
    std::vector<unsigned char> data(sizeof inbox_of_thread);
    fill(data.data(), data.size(), static_cast<unsigned long>(task));
    pthread_t thread{};
    EXPECT_EQUAL(pthread_create(&thread, nullptr, call_without_memory, nullptr), 0);
    reach(1);
    CALL(LAPI_Gfence(handle));
    fill_heap();
    stage = 2;
    reach(3);
    empty_heap();
    CALL(LAPI_Put(handle, right(), data.size(), inboxes[right()], data.data(), counters[right()], nullptr, nullptr));
    stage = 4;
    EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
    EXPECT(holds(inbox_of_thread, sizeof inbox_of_thread, static_cast<unsigned long>(left())));
  });
  finish();
}

}  // namespace

int main(int count, char** arguments) {
  mallopt(M_ARENA_MAX, 1);  // or threads would find room in arenas of their own
  signal(SIGUSR1, on_signal);
  sigset_t some;
  sigemptyset(&some);
  sigaddset(&some, SIGUSR2);
  EXPECT_EQUAL(pthread_sigmask(SIG_BLOCK, &some, nullptr), 0);
  const Process before;
  begin(count, arguments);
  Process().expect_same(before);
  const std::string what = words.empty() ? "" : words.front();
  what == "further" ? further() : what == "idle" ? idle() : what == "starved" ? starved() : live_again_and_again();
  return 0;
}
