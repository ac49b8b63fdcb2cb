// A task that uses the Bootstrap and says what it found: run by control_lapirun_test.py under several launchers.
#include <fcntl.h>
#include <pmix.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <thread>

#include "control/client/bootstrap.h"

namespace openlapi {
namespace {

using Arguments = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

[[noreturn]] void fail(const std::string& what) {
  std::fprintf(stderr, "probe: %s\n", what.c_str());
  std::fflush(nullptr);
  _exit(99);
}

// `error` by reference: it may be filled while `holds` is computed.
void check(bool holds, const std::string& what, const std::string& error = {}) {
  if (!holds) fail(what + error);
}

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

std::shared_ptr<Bootstrap> open_or_fail() {
  std::string error;
  auto bootstrap = open_pmix_bootstrap(error);
  check(bootstrap != nullptr, "open: ", error);
  return bootstrap;
}

void exchange_or_fail(Bootstrap& bootstrap) {
  std::string error;
  check(bootstrap.exchange(error), "exchange: ", error);
}

std::vector<std::byte> card_of(std::uint32_t rank, unsigned round) {
  std::vector<std::byte> card(1 + (rank * 37 + round * 11) % 60);
  for (std::size_t i = 0; i < card.size(); ++i) card[i] = static_cast<std::byte>(rank * 5 + round * 3 + i);
  return card;
}

std::vector<int> affinity() {
  cpu_set_t set;
  sched_getaffinity(0, sizeof set, &set);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &set)) processors.push_back(i);
  return processors;
}

std::vector<int> blocked_signals() {
  sigset_t set;
  sigprocmask(SIG_BLOCK, nullptr, &set);
  std::vector<int> blocked;
  for (int i = 1; i < NSIG; ++i)
    if (sigismember(&set, i) == 1) blocked.push_back(i);
  return blocked;
}

void check_cards(Bootstrap& bootstrap, unsigned round) {
  const std::string key = "probe.card." + std::to_string(round);
  std::string error;
  check(bootstrap.put(key, card_of(bootstrap.task(), round), error), "put: ", error);
  exchange_or_fail(bootstrap);
  for (std::uint32_t rank = 0; rank < bootstrap.size(); ++rank) {
    std::vector<std::byte> card;
    check(bootstrap.get(rank, key, 10, card, error), "get: ", error);
    check(card == card_of(rank, round), "wrong card of " + std::to_string(rank));
    check(bootstrap.get(rank, key, 0, card, error), "immediate get: ", error);
    check(card == card_of(rank, round), "wrong immediate card of " + std::to_string(rank));
  }
}

int exchange(const Arguments&) {
  const auto affinity_before = affinity();
  const auto blocked_before = blocked_signals();
  const auto bootstrap = open_or_fail();
  check(affinity() == affinity_before, "the affinity was changed");
  check(blocked_signals() == blocked_before, "the signal mask was changed");
  for (unsigned round = 0; round < 3; ++round) check_cards(*bootstrap, round);
  check(open_or_fail() == bootstrap, "a second open gives another object");
  std::string error;
  for (int i = 0; i < 10; ++i) check(bootstrap->barrier(error), "barrier: ", error);
  std::string local;
  for (const std::uint32_t task : bootstrap->local_tasks()) {
    if (!local.empty()) local += ',';
    local += std::to_string(task);
  }
  std::printf("rank=%u size=%u local=%s cookie=%016" PRIx64 " name=%s\n", bootstrap->task(), bootstrap->size(),
              local.c_str(), bootstrap->job_cookie(), std::string(bootstrap->name()).c_str());
  return 0;
}

// Who leaves the barrier must find the file that the last task makes just before it comes.
int barrier(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  exchange_or_fail(*bootstrap);
  std::string error;
  if (bootstrap->task() == bootstrap->size() - 1) {
    for (const auto start = Clock::now(); milliseconds_since(start) < 50;) sched_yield();
    close(open(arguments.at(0).c_str(), O_CREAT | O_WRONLY, 0600));
  }
  check(bootstrap->barrier(error), "barrier: ", error);
  check(access(arguments.at(0).c_str(), F_OK) == 0, "left the barrier before the last task came");
  return 0;
}

pmix_proc_t process_of(const Bootstrap& bootstrap, std::uint32_t rank) {
  pmix_proc_t process;
  PMIX_LOAD_PROCID(&process, std::getenv("PMIX_NAMESPACE"), rank);
  check(rank < bootstrap.size(), "no such task");
  return process;
}

// As barrier, but the fence collects nothing, as other users of PMIx ask for it; then one of the first and last task
// only.
int plain_fence(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  const std::uint32_t last = bootstrap->size() - 1;
  const pmix_proc_t some[] = {process_of(*bootstrap, 0), process_of(*bootstrap, last)};
  const std::string places[] = {arguments.at(0) + ".all", arguments.at(0) + ".some"};
  for (const bool all : {true, false}) {
    const std::string& place = places[all ? 0 : 1];
    if (!all && bootstrap->task() != 0 && bootstrap->task() != last) continue;
    if (bootstrap->task() == last) {
      for (const auto start = Clock::now(); milliseconds_since(start) < 50;) sched_yield();
      close(open(place.c_str(), O_CREAT | O_WRONLY, 0600));
    }
    const pmix_status_t status = PMIx_Fence(all ? nullptr : some, all ? 0 : 2, nullptr, 0);
    check(status == PMIX_SUCCESS, std::string("PMIx_Fence: ") + PMIx_Error_string(status));
    check(access(place.c_str(), F_OK) == 0, "left " + place + " before the last task came");
  }
  return 0;
}

// What no fence has brought is fetched from the task's own node; the last task commits late, and is waited for.
int fetch(const Arguments&) {
  const auto bootstrap = open_or_fail();
  std::string error;
  check(bootstrap->put("probe.fetch", card_of(bootstrap->task(), 0), error), "put: ", error);
  if (bootstrap->task() == bootstrap->size() - 1) {
    for (const auto start = Clock::now(); milliseconds_since(start) < 50;) sched_yield();
  }
  check(PMIx_Commit() == PMIX_SUCCESS, "PMIx_Commit");
  for (std::uint32_t rank = 0; rank < bootstrap->size(); ++rank) {
    std::vector<std::byte> card;
    check(bootstrap->get(rank, "probe.fetch", 30, card, error), "get: ", error);
    check(card == card_of(rank, 0), "wrong card of " + std::to_string(rank));
  }
  check(bootstrap->barrier(error), "barrier: ", error);
  return 0;
}

int get_absent(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  exchange_or_fail(*bootstrap);
  const auto timeout = static_cast<unsigned>(std::stoul(arguments.at(0)));
  std::string error;
  std::vector<std::byte> value(3);
  const auto start = Clock::now();
  check(!bootstrap->get(bootstrap->size() - 1, "probe.absent", timeout, value, error), "found what nobody put");
  check(value.size() == 3, "the value was changed");
  std::printf("rank=%u waited=%.1f error=%s\n", bootstrap->task(), milliseconds_since(start), error.c_str());
  std::fflush(stdout);
  check(bootstrap->barrier(error), "barrier: ", error);
  return 0;
}

int singleton(const Arguments&) {
  const auto start = Clock::now();
  std::string error;
  const bool opened = open_pmix_bootstrap(error) != nullptr;
  std::printf("opened=%d ms=%.2f error=%s\n", opened ? 1 : 0, milliseconds_since(start), error.c_str());
  return 0;
}

// With a file's name: makes it when connected.
int hello(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  for (const std::string& name : arguments) close(open(name.c_str(), O_CREAT | O_WRONLY, 0600));
  exchange_or_fail(*bootstrap);
  return 0;
}

// One task does something drastic while the others wait in a barrier that cannot end.
int one_of_them(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  exchange_or_fail(*bootstrap);
  std::string error;
  if (bootstrap->task() == std::stoul(arguments.at(1))) {
    if (arguments.at(0) == "exit") _exit(std::stoi(arguments.at(2)));
    if (arguments.at(0) == "signal") raise(std::stoi(arguments.at(2)));
    if (arguments.at(0) == "abort") bootstrap->abort(std::stoi(arguments.at(2)), "asked to");
  }
  if (arguments.at(0) == "wait") {
    std::printf("waits\n");
    std::fflush(stdout);
    if (bootstrap->task() == std::stoul(arguments.at(1))) pause();
  }
  bootstrap->barrier(error);
  while (true) pause();
}

// Whether the process's first thread has ended while others of it go on.
bool first_thread_has_ended(pid_t process) {
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  return text.find(") Z ") != std::string::npos;
}

// Task 1 ends the job while task 0 is as the kernel has a process that it takes away; then task 0's end comes.
int abort_beside_exit(const Arguments& arguments) {
  const auto bootstrap = open_or_fail();
  std::string error;
  const pid_t own = getpid();
  check(bootstrap->put("probe.process", std::as_bytes(std::span(&own, 1)), error), "put: ", error);
  exchange_or_fail(*bootstrap);
  if (bootstrap->task() == 0) {
    std::thread([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      kill(getpid(), SIGKILL);
    }).detach();
    pthread_exit(nullptr);
  }
  std::vector<std::byte> value;
  pid_t other = 0;
  check(bootstrap->get(0, "probe.process", 30, value, error), "get: ", error);
  std::memcpy(&other, value.data(), sizeof other);
  while (!first_thread_has_ended(other)) sched_yield();
  bootstrap->abort(std::stoi(arguments.at(0)), "asked to");
  return 0;
}

int abort_alone(const Arguments& arguments) {
  open_or_fail()->abort(std::stoi(arguments.at(0)), "asked to");
  return 0;
}

// Says that it is there and stays, deaf to the signals given.
int stay(const Arguments& arguments) {
  for (const std::string& number : arguments) signal(std::stoi(number), SIG_IGN);
  const auto bootstrap = open_or_fail();
  exchange_or_fail(*bootstrap);
  std::printf("ready %u %d\n", bootstrap->task(), getpid());
  std::fflush(stdout);
  while (true) pause();
}

int leave_without_goodbye(const Arguments&) {
  const auto bootstrap = open_or_fail();
  exchange_or_fail(*bootstrap);
  _exit(0);
}

// A forked child that exits must not end its parent's connection.
int fork_and_go_on(const Arguments&) {
  const auto bootstrap = open_or_fail();
  const pid_t child = fork();
  if (child == 0) std::exit(0);
  exchange_or_fail(*bootstrap);
  std::string error;
  check(bootstrap->barrier(error), "barrier: ", error);
  return 0;
}

int run(const std::string& mode, const Arguments& arguments) {
  const std::map<std::string, int (*)(const Arguments&)> modes{{"exchange", exchange},
                                                               {"barrier", barrier},
                                                               {"plain-fence", plain_fence},
                                                               {"fetch", fetch},
                                                               {"get-absent", get_absent},
                                                               {"singleton", singleton},
                                                               {"hello", hello},
                                                               {"one-of-them", one_of_them},
                                                               {"abort-beside-exit", abort_beside_exit},
                                                               {"abort-alone", abort_alone},
                                                               {"stay", stay},
                                                               {"no-goodbye", leave_without_goodbye},
                                                               {"fork", fork_and_go_on}};
  const auto found = modes.find(mode);
  if (found == modes.end()) fail("unknown mode " + mode);
  return found->second(arguments);
}

}  // namespace
}  // namespace openlapi

int main(int count, char** words) {
  if (count < 2) return 2;
  return openlapi::run(words[1], {words + 2, words + count});
}
