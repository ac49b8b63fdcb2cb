// What ERROR_CHK costs: each call with the checks off and on, in turn, in a job of one task that sends to itself.
//   lapirun -n 1 error_check_bench
#include <cstdio>
#include <cstring>

#include "api/include/lapi.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

constexpr int kSlices = 21;
constexpr unsigned kCalls = 20'000;

template <class Call>
void compare_call(lapi_handle_t handle, const char* name, Call&& call) {
  std::vector<Slice> slices(kSlices);
  for (Slice& slice : slices) {
    for (const int checked : {0, 1}) {
      LAPI_Senv(handle, ERROR_CHK, checked);
      time_batches(kCalls, 100, 1, checked != 0 ? &slice.library : &slice.floor, call);
    }
  }
  const Comparison result = compare(slices);
  std::printf("%-14s %8.1f %8.1f %+8.1f\n", name, result.floor, result.median, result.difference);
}

int run() {
  lapi_handle_t handle = 0;
  lapi_info_t info;
  std::memset(&info, 0, sizeof info);
  if (LAPI_Init(&handle, &info) != LAPI_SUCCESS) return 1;
  int task = 0;
  LAPI_Qenv(handle, TASK_ID, &task);
  LAPI_Senv(handle, INTERRUPT_SET, 0);
  const auto self = static_cast<uint>(task);
  lapi_cntr_t counter = {};
  long long source = 1, target = 0, in[2] = {1, 2}, previous = 0;
  int value = 0;
  std::printf("%-14s %8s %8s %8s  (ns a call; ERROR_CHK)\n", "call", "off", "on", "more");
  compare_call(handle, "LAPI_Getcntr", [&] { LAPI_Getcntr(handle, &counter, &value); });
  compare_call(handle, "LAPI_Setcntr", [&] { LAPI_Setcntr(handle, &counter, 0); });
  compare_call(handle, "LAPI_Put", [&] { LAPI_Put(handle, self, 8, &target, &source, nullptr, nullptr, nullptr); });
  compare_call(handle, "LAPI_Get", [&] { LAPI_Get(handle, self, 8, &source, &target, nullptr, nullptr); });
  compare_call(handle, "LAPI_Rmw64", [&] { LAPI_Rmw64(handle, FETCH_AND_ADD, self, &target, in, &previous, nullptr); });
  LAPI_Gfence(handle);
  return LAPI_Term(handle) == LAPI_SUCCESS ? 0 : 1;
}

}  // namespace
}  // namespace openlapi::bench

int main() { return openlapi::bench::run(); }
