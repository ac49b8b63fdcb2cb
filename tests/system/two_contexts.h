// Two contexts in each task, and what the api_crossing* programs do with both.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <vector>

#include "tests/system/api_case.h"

namespace two_contexts {

using namespace api_case;

inline constexpr int kSides = 2;

struct Side {
  lapi_handle_t own = 0;
  lapi_handle_t other = 0;
  std::atomic<int> wrong{0};  // calls that did not return what they should
  std::atomic<int> runs{0};   // handlers that have run
};
inline Side sides[kSides];

inline lapi_thread_func_t lock_functions;

inline int number_of(const Side& side) { return static_cast<int>(&side - sides); }

inline Side& side_of(lapi_handle_t which) { return which == sides[0].own ? sides[0] : sides[1]; }

inline void* index_of(int index) { return reinterpret_cast<void*>(static_cast<long>(index)); }

inline int unlike(const char* what, int code, int wanted) {
  if (code == wanted) return 0;
  std::printf("# %s on the other context returned %d, not %d\n", what, code, wanted);
  std::fflush(stdout);  // the task that fails ends without
  return 1;
}
#define UNLIKE(call, wanted) unlike(#call, call, wanted)

// In polling mode, too, both contexts move.
template <class Done>
void probe_both_until(Done done) {
  while (!done()) {
    for (const Side& side : sides) CALL(LAPI_Probe(side.own));
  }
}

template <class Done>
void on_both_sides(void* (*body)(void*), Done done) {
  pthread_t threads[kSides];
  for (int index = 0; index < kSides; ++index) {
    EXPECT_EQUAL(pthread_create(&threads[index], nullptr, body, &sides[index]), 0);
  }
  probe_both_until(done);
  for (const pthread_t thread : threads) EXPECT_EQUAL(pthread_join(thread, nullptr), 0);
}

// In polling mode a fence would serve one context only, and others may still need both.
inline void fence_both() {
  static lapi_cntr_t finished{};  // by how many tasks
  static const std::vector<lapi_cntr_t*> counters = exchange(&finished);
  for (int other = 0; other < tasks; ++other) {
    const auto to = static_cast<unsigned>(other);
    CALL(LAPI_Put(handle, to, 0, nullptr, nullptr, counters[to], nullptr, nullptr));
  }
  probe_both_until([] { return counter_value(finished) == tasks; });
  CALL(LAPI_Setcntr(handle, &finished, counter_value(finished) - tasks));
  for (const Side& side : sides) CALL(LAPI_Gfence(side.own));
}

// The second context beside the first, as the command line says.
inline void open_both(int count, char** arguments) {
  begin(count, arguments);
  sides[0].own = sides[1].other = handle;
  CALL(open_context(&sides[1].own, cleared_info()));
  sides[0].other = sides[1].own;
  if (polling) CALL(LAPI_Senv(sides[1].own, INTERRUPT_SET, 0));
  CALL(LAPI_Senv(sides[1].own, ERROR_CHK, 1));
  lapi_util_t command;
  std::memset(&command, 0, sizeof command);
  command.Util_type = LAPI_GET_THREAD_FUNC;
  CALL(LAPI_Util(handle, &command));
  lock_functions = command.ThreadFunc;
}

inline int finish_both() {
  CALL(LAPI_Gfence(sides[1].own));
  CALL(LAPI_Term(sides[1].own));
  return finish();
}

// Registers a handler in both contexts.
inline void set_handler(hdr_hndlr_t* function, int index) {
  for (const Side& side : sides) CALL(LAPI_Addr_set(side.own, reinterpret_cast<void*>(function), index));
}

}  // namespace two_contexts
