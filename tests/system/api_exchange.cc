// What LAPI_Init asks of the launcher, counted by functions of this program that stand before those of libpmix. Usage:
//   lapirun -n N api_exchange
#include <dlfcn.h>
#include <pmix.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "lapi.h"

namespace {

int task = -1;

#define EXPECT(condition)                                                                                     \
  do {                                                                                                        \
    if (!(condition)) {                                                                                       \
      std::fprintf(stderr, "api_exchange: task %d, line %d: %s does not hold\n", task, __LINE__, #condition); \
      std::exit(1);                                                                                           \
    }                                                                                                         \
  } while (false)
#define CALL(call) EXPECT((call) == LAPI_SUCCESS)

// "A few dozen bytes", with the key that they lie under: of each network's address, and of the library.
constexpr std::size_t kMostPublished = 64;
constexpr std::size_t kMostOfNetworks = 433 + 32;  // see bootstrap.h

std::atomic<unsigned> fences{0}, collecting{0}, gets_of_tasks{0}, entries{0};
std::atomic<std::size_t> published{0};
// A task that is ahead may have talked to this one's other thread already.
thread_local unsigned gets_of_this_thread = 0;

template <typename Function>
Function* real(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  EXPECT(found != nullptr);
  return reinterpret_cast<Function*>(found);
}

lapi_handle_t open_context(bool everybody_here) {
  const unsigned fences_before = fences, puts_before = entries;
  const std::size_t published_before = published;
  const unsigned gets_before = gets_of_this_thread;
  lapi_handle_t handle = 0;
  lapi_info_t info{};
  CALL(LAPI_Init(&handle, &info));
  CALL(LAPI_Qenv(handle, TASK_ID, &task));
  const char* shared = std::getenv("LAPI_USE_SHM");
  const bool network = !everybody_here || (shared != nullptr && std::strcmp(shared, "no") == 0);
  // Tasks of one node wait for each other once, with the first context.
  const unsigned waiting = everybody_here && fences_before == 0 ? 1 : 0;
  // Those of several nodes also tell which networks they have, the first one of each for all that are there.
  const unsigned networks = everybody_here ? 0 : 1;
  EXPECT(fences - fences_before == (network ? 1 : 0) + networks + waiting);
  // With the first exchange tasks tell what their libraries are; each but task 0 asks one other.
  const unsigned libraries = fences_before == 0 ? 1 : 0;
  const unsigned told = entries - puts_before - (network ? 1 : 0) - libraries;
  EXPECT(told <= networks && (task != 0 || told == networks));
  EXPECT(gets_of_this_thread - gets_before == (task != 0 ? libraries : 0));
  if (task == 0) std::printf("task 0 publishes %zu bytes, key included\n", published - published_before);
  EXPECT(published - published_before <= (1 + libraries) * kMostPublished + told * kMostOfNetworks);
  return handle;
}

// Everybody's word is written by the task before it.
void talk_to_neighbour(lapi_handle_t handle, int tasks) {
  static lapi_cntr_t arrived;
  static long long word = -1;
  int zero = 0;
  CALL(LAPI_Setcntr(handle, &arrived, zero));
  word = -1;
  static void* words[1024];
  static void* counters[1024];
  CALL(LAPI_Address_init(handle, &word, words));
  CALL(LAPI_Address_init(handle, &arrived, counters));
  const int next = (task + 1) % tasks;
  long long value = task;
  lapi_cntr_t done;
  CALL(LAPI_Setcntr(handle, &done, zero));
  CALL(LAPI_Put(handle, static_cast<uint>(next), sizeof value, words[next], &value,
                static_cast<lapi_cntr_t*>(counters[next]), nullptr, &done));
  CALL(LAPI_Waitcntr(handle, &done, 1, nullptr));
  CALL(LAPI_Waitcntr(handle, &arrived, 1, nullptr));
  EXPECT(word == (task + tasks - 1) % tasks);
}

// Those of the exchange's rounds, at both ends, and no others.
unsigned most_contacts(int tasks) {
  unsigned rounds = 0;
  while (1 << rounds < tasks) ++rounds;
  return 2 * rounds;
}

}  // namespace

extern "C" {

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t* value) {
  ++entries;
  published += std::strlen(key) + (value->type == PMIX_BYTE_OBJECT ? value->data.bo.size : 0);
  return real<decltype(PMIx_Put)>("PMIx_Put")(scope, key, value);
}

pmix_status_t PMIx_Fence(const pmix_proc_t procs[], std::size_t count, const pmix_info_t info[], std::size_t infos) {
  ++fences;
  for (std::size_t i = 0; i < infos; ++i) {
    if (std::strcmp(info[i].key, PMIX_COLLECT_DATA) == 0 && info[i].value.data.flag) ++collecting;
  }
  return real<decltype(PMIx_Fence)>("PMIx_Fence")(procs, count, info, infos);
}

pmix_status_t PMIx_Get(const pmix_proc_t* process, const char key[], const pmix_info_t info[], std::size_t infos,
                       pmix_value_t** value) {
  // Not what libpmix asks for itself.
  const bool is_address = process->rank != PMIX_RANK_WILDCARD && std::strncmp(key, "openlapi.", 9) == 0;
  if (is_address) ++gets_of_tasks, ++gets_of_this_thread;
  return real<decltype(PMIx_Get)>("PMIx_Get")(process, key, info, infos, value);
}

}  // extern "C"

// The number of nodes says whether the tasks have one of their own.
int main(int count, char** words) {
  EXPECT(count == 2);
  const bool everybody_here = std::strcmp(words[1], "one-node") == 0;
  const lapi_handle_t first = open_context(everybody_here);
  int tasks = 0;
  CALL(LAPI_Qenv(first, NUM_TASKS, &tasks));
  talk_to_neighbour(first, tasks);
  EXPECT(gets_of_tasks <= most_contacts(tasks));
  const unsigned gets = gets_of_tasks;
  const lapi_handle_t second = open_context(everybody_here);
  talk_to_neighbour(second, tasks);
  EXPECT(gets_of_tasks <= 2 * most_contacts(tasks));
  if (task == 0) std::printf("task 0 asked for %u, then for %u addresses\n", gets, gets_of_tasks - gets);
  EXPECT(collecting == 0);
  CALL(LAPI_Gfence(second));
  CALL(LAPI_Term(second));
  CALL(LAPI_Gfence(first));
  CALL(LAPI_Term(first));
  return 0;
}
