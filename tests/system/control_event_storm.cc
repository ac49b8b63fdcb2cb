// Two tasks of a PMIx launcher: task 0 says more of its adapters than anybody may, and task 1 counts what it hears; the
// bed hosts_events.py starts them on two hosts.
//
//   control_event_storm COUNT
//
// Task 0 says "seconds" that the storm took until the server had all of it, and "grown" (kB, by which its parent, the
// server, has grown); task 1 "heard" (events before the last one).
#include <pmix.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <utility>

#include "control/client/adapter_event_info.h"

using namespace openlapi;
using namespace std::chrono_literals;

namespace {

constexpr AdapterAddress kStorm{1}, kLast{2};

struct Heard {
  std::mutex lock;
  std::condition_variable changed;
  unsigned events = 0;
  bool last = false;
};
Heard& heard() {
  static Heard* instance = new Heard;
  return *instance;
}

[[noreturn]] void give_up(const char* what, int status) {
  std::fprintf(stderr, "control_event_storm: %s: %s\n", what, PMIx_Error_string(status));
  _exit(1);
}

void hear(std::size_t, pmix_status_t, const pmix_proc_t*, pmix_info_t* infos, std::size_t count, pmix_info_t*,
          std::size_t, pmix_event_notification_cbfunc_fn_t done, void* context) {
  const auto event = adapter_event_of(infos, count);
  {
    std::lock_guard held(heard().lock);
    if (event && event->words.front().address == kLast) {
      heard().last = true;
    } else if (!heard().last) {
      ++heard().events;
    }
    heard().changed.notify_all();
  }
  done(PMIX_EVENT_ACTION_COMPLETE, nullptr, 0, nullptr, nullptr, context);
}

// Everything that this task has said before is with the server when it returns; `idle` runs until then.
template <typename Idle>
void fence(Idle&& idle) {
  std::promise<pmix_status_t> promise;
  std::future<pmix_status_t> done = promise.get_future();
  const auto finished = [](pmix_status_t status, void* waits) {
    static_cast<std::promise<pmix_status_t>*>(waits)->set_value(status);
  };
  const pmix_status_t started = PMIx_Fence_nb(nullptr, 0, nullptr, 0, finished, &promise);
  if (started != PMIX_SUCCESS) give_up("fence", started);
  while (done.wait_for(200ms) != std::future_status::ready) idle();
  if (const pmix_status_t status = done.get(); status != PMIX_SUCCESS) give_up("fence", status);
}
void fence() {
  fence([] {});
}

void say(const pmix_proc_t& self, const AdapterAddress& address, bool is_up) {
  AdapterEventInfo info({{{address, is_up}}});
  const pmix_status_t status =
      PMIx_Notify_event(AdapterEvent::kCode, &self, PMIX_RANGE_NAMESPACE, info.data(), info.size(), nullptr, nullptr);
  if (status != PMIX_SUCCESS && status != PMIX_OPERATION_SUCCEEDED) give_up("event", status);
}

long parents_size() {
  std::ifstream status("/proc/" + std::to_string(getppid()) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atol(line.c_str() + 6);
  }
  return 0;
}

void storm(const pmix_proc_t& self, unsigned count) {
  for (unsigned n = 0; n < 100; ++n) say(self, kStorm, n % 2 != 0);  // what libpmix keeps anyway
  const long before = parents_size();
  const auto begun = std::chrono::steady_clock::now();
  for (unsigned n = 0; n < count; ++n) say(self, kStorm, n % 2 != 0);
  fence();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::printf("seconds %.3f\ngrown %ld\n", took.count(), parents_size() - before);
  std::fflush(stdout);
  bool is_up = false;  // told until the other task has heard it: the storm has used up what this one may say
  fence([&] { say(self, kLast, std::exchange(is_up, !is_up)); });
}

void wait_for_last() {
  std::unique_lock held(heard().lock);
  if (!heard().changed.wait_for(held, 60s, [] { return heard().last; })) give_up("the last event", PMIX_ERR_TIMEOUT);
  std::printf("heard %u\n", heard().events);
  std::fflush(stdout);
}

}  // namespace

int main(int words, char** word) {
  pmix_proc_t self;
  if (const pmix_status_t status = PMIx_Init(&self, nullptr, 0); status != PMIX_SUCCESS) give_up("PMIx_Init", status);
  pmix_status_t code = AdapterEvent::kCode;
  const pmix_status_t registered = PMIx_Register_event_handler(&code, 1, nullptr, 0, hear, nullptr, nullptr);
  if (registered < 0) give_up("handler", registered);
  fence();
  if (self.rank == 0) {
    storm(self, words > 1 ? static_cast<unsigned>(std::atoi(word[1])) : 1000);
  } else {
    fence();
    wait_for_last();
    fence();
  }
  PMIx_Finalize(nullptr, 0);
  return 0;
}
