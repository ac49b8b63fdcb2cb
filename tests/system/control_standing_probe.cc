// A task that stays at one place of LAPI, or outside of it: started by control_standing_test.py.
//   lapirun -n N control_standing_probe PLACE...     one place for each task, from the table below
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "lapi.h"

namespace {

lapi_handle_t handle;
lapi_cntr_t counter;
std::vector<void*> words;
int word = 0;
int stopped_task = 0;

void check(int code) {
  if (code != LAPI_SUCCESS) std::exit(9);
}

void* take_nothing(lapi_handle_t*, void*, uint*, ulong*, compl_hndlr_t** completion, void**) {
  *completion = nullptr;
  return nullptr;
}

std::size_t own_number() {
  const char* rank = std::getenv("PMIX_RANK");
  return std::strtoul(rank != nullptr ? rank : std::getenv("MP_CHILD"), nullptr, 10);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void wait_for_counter() {
  check(LAPI_Setcntr(handle, &counter, 1));
  LAPI_Waitcntr(handle, &counter, 3, nullptr);
}

void wait_without_polling() { LAPI_Nopoll_wait(handle, &counter, 2, nullptr); }

void send_to_stopped_task() {
  check(LAPI_Amsend(handle, static_cast<uint>(stopped_task), reinterpret_cast<void*>(1), nullptr, 0, nullptr, 0,
                    nullptr, nullptr, nullptr));
}

// Until it has stopped.
void fence() {
  for (;;) {
    send_to_stopped_task();
    check(LAPI_Fence(handle));
  }
}

void send_for_ever() {
  for (;;) send_to_stopped_task();
}

void compute() {
  for (;;) asm volatile("");
}

void probe() {
  for (;;) LAPI_Probe(handle);
}

void leave() {
  LAPI_Term(handle);
  std::exit(0);
}

void stay_after_term() {
  LAPI_Term(handle);
  sleep_for_ever();
}

// Its first thread ends, another goes on.
void leave_to_a_thread() {
  std::thread([] { LAPI_Gfence(handle); }).detach();
  pthread_exit(nullptr);
}

const std::map<std::string, void (*)()> places = {
    {"waitcntr", wait_for_counter},
    {"nopoll", wait_without_polling},
    {"fence", fence},
    {"send", send_for_ever},
    {"gfence", [] { LAPI_Gfence(handle); }},
    {"headless", leave_to_a_thread},
    {"address", [] { LAPI_Address_init(handle, &word, words.data()); }},
    {"compute", compute},
    {"asleep", [] { sleep_for_ever(); }},
    {"probe", probe},
    {"leave", leave},
    {"term", stay_after_term},
    {"stopped", [] { raise(SIGSTOP); }},
    {"absent", nullptr},
};

}  // namespace

int main(int count, char** arguments) {
  const std::vector<std::string> all(arguments + 1, arguments + count);
  const std::string place = all.at(own_number());
  for (std::size_t task = 0; task < all.size(); ++task)
    if (all[task] == "stopped") stopped_task = static_cast<int>(task);
  if (place == "absent") sleep_for_ever();
  lapi_info_t info{};
  info.lib_vers = LAST_LIB;
  check(LAPI_Init(&handle, &info));
  check(LAPI_Addr_set(handle, reinterpret_cast<void*>(take_nothing), 1));
  words.resize(all.size());
  check(LAPI_Address_init(handle, &word, words.data()));
  places.at(place)();
  return 8;
}
