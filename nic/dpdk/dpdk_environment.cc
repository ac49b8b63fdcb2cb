#include "nic/dpdk/dpdk_environment.h"

#include <rte_alarm.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <rte_malloc.h>
#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <future>
#include <mutex>
#include <thread>

#include "nic/dpdk/device_preference.h"
#include "nic/dpdk/huge_pages.h"

namespace openlapi::dpdk {
namespace {

constexpr std::size_t kLinesKept = 4;

struct Environment {
  std::mutex control;
  std::atomic<pid_t> process = 0;  // in which it was started or could not be; 0: not yet
  bool runs = false;
  std::atomic<bool> own = false;   // it was not the program that had started it
  std::string reason;              // why it does not run
  std::vector<std::string> words;  // DPDK keeps pointers to its arguments
  std::vector<char*> pointers;
};

struct Log {
  std::mutex mutex;
  std::string line;               // that has no end yet
  std::deque<std::string> lines;  // the last ones
};

// Never destroyed: DPDK's own threads outlive main().
Environment& environment() {
  static auto* const the_one = new Environment;
  return *the_one;
}

Log& log() {
  static auto* const the_one = new Log;
  return *the_one;
}

ssize_t keep_log(void*, const char* bytes, std::size_t length) {
  const std::lock_guard lock(log().mutex);
  for (const char byte : std::string_view(bytes, length)) {
    if (byte != '\n') {
      log().line += byte;
      continue;
    }
    if (!log().line.empty()) log().lines.push_back(std::move(log().line));
    log().line.clear();
    if (log().lines.size() > kLinesKept) log().lines.pop_front();
  }
  return static_cast<ssize_t>(length);
}

// What DPDK says goes into a message if it is of use, not to the terminal.
void keep_what_is_logged() {
  FILE* const stream = fopencookie(nullptr, "w", {nullptr, keep_log, nullptr, nullptr});
  if (stream == nullptr) return;
  setvbuf(stream, nullptr, _IOLBF, 0);
  rte_openlog_stream(stream);
}

unsigned first_processor() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 0;
  for (unsigned processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed)) return processor;
  }
  return 0;
}

bool end_with(std::string& reason, std::string text) {
  reason = std::move(text);
  return false;
}

// In a thread of its own: EAL pins the one that calls it, and its threads inherit that one's signals.
void start(Environment& the, std::uint64_t free_huge) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  keep_what_is_logged();
  the.pointers.clear();
  for (std::string& word : the.words) the.pointers.push_back(word.data());
  const auto count = static_cast<int>(the.pointers.size());
  the.pointers.push_back(nullptr);
  the.own = rte_eal_init(count, the.pointers.data()) >= 0;
  the.runs = the.own || rte_errno == EALREADY;
  if (the.runs) {
    rmdir(rte_eal_get_runtime_dir());  // nothing is put there without a shared configuration
    take_log();
    return;
  }
  const int error = rte_errno;
  std::string arguments;
  for (const std::string& word : the.words) arguments += " " + word;
  the.reason = "DPDK does not start with the arguments" + arguments + ": " + rte_strerror(error) +
               "; it says: " + take_log() + " (" + std::to_string(free_huge >> 20) + " MiB are free in huge pages)";
}

}  // namespace

bool start_environment(const std::string& arguments, std::uint64_t needed_bytes, bool may_take_huge,
                       std::string& reason) {
  Environment& the = environment();
  // Before the lock: a thread that the fork has left behind may hold it.
  if (const pid_t process = the.process; process != 0 && process != getpid()) {
    return end_with(reason, "DPDK was started in the process that this one was forked from: it serves that one only");
  }
  const std::lock_guard lock(the.control);
  if (the.process != 0) return the.runs || end_with(reason, the.reason);
  const std::vector<std::string> users = split_words(arguments);
  for (const std::string& word : users) {
    if (word == "-h" || word == "--help" || word == "-v") {
      return end_with(reason, "'" + word + "' is no argument for a task's DPDK");
    }
  }
  the.reason = "DPDK was not started: no memory";  // unless it goes on
  the.process = getpid();
  const std::uint64_t free_huge = free_huge_bytes();
  the.words = eal_arguments(users, {.huge_pages_suffice = may_take_huge && huge_pages_hold(needed_bytes),
                                    .needed_bytes = needed_bytes,
                                    .processor = first_processor(),
                                    .unique_name = "openlapi-" + std::to_string(getpid())});
  std::thread([&] { start(the, free_huge); }).join();
  return the.runs || end_with(reason, the.reason);
}

bool would_choose_pages(const std::string& arguments) {
  return environment().process == 0 && !decides_pages(split_words(arguments));
}

bool is_own_environment() { return environment().own; }

bool has_huge_pages() { return rte_eal_has_hugepages() != 0; }

std::uint64_t free_memory() {
  std::uint64_t bytes = 0;
  for (int node = 0; node < RTE_MAX_NUMA_NODES; ++node) {
    rte_malloc_socket_stats statistics{};
    if (rte_malloc_get_socket_stats(node, &statistics) == 0) bytes += statistics.heap_freesz_bytes;
  }
  return bytes;
}

std::string take_log() {
  const std::lock_guard lock(log().mutex);
  std::string text;
  for (const std::string& line : log().lines) text += (text.empty() ? "" : "; ") + line;
  log().lines.clear();
  return text;
}

std::string described(const char* what, const std::string& name, int error) {
  const std::string log = take_log();
  // Behind an IOMMU all memory that the adapter may reach is locked.
  const bool locks_too_little = log.find("DMA remapping failed, error 12") != std::string::npos;
  return std::string(what) + " " + name + ": " + rte_strerror(error < 0 ? -error : error) +
         (log.empty() ? "" : "; DPDK says: " + log) +
         (locks_too_little ? "; the adapter needs more locked memory than the task may have (memlock, ulimit -l)" : "");
}

void call_in_interrupt_thread(const std::function<void()>& body) {
  struct Call {
    const std::function<void()>& body;
    std::promise<void> done;
  };
  Call call{body, {}};
  const auto run = [](void* argument) {
    auto& the = *static_cast<Call*>(argument);
    try {
      the.body();
      the.done.set_value();
    } catch (...) {
      the.done.set_exception(std::current_exception());
    }
  };
  if (rte_eal_alarm_set(1, run, &call) != 0) run(&call);
  call.done.get_future().get();
}

ControlLock::ControlLock(Patience patience) : held_(environment().control.try_lock()) {
  if (held_ || patience == Patience::look) return;
  environment().control.lock();
  held_ = true;
}

ControlLock::~ControlLock() {
  if (held_) environment().control.unlock();
}

}  // namespace openlapi::dpdk
