// From launch to exit: `lapirun -n 2 hello` (LAPI_Init, LAPI_Gfence, LAPI_Term), median of 20.
//   startup_bench LAPIRUN HELLO [times]
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "bench/perf/statistics.h"

namespace openlapi::bench {
namespace {

// Milliseconds; negative: it could not be started or failed.
double run_once(const char* lapirun, const char* hello) {
  char* const arguments[] = {const_cast<char*>(lapirun), const_cast<char*>("-n"), const_cast<char*>("2"),
                             const_cast<char*>(hello), nullptr};
  const std::uint64_t start = monotonic_nanoseconds();
  pid_t child = 0;
  if (posix_spawn(&child, lapirun, nullptr, nullptr, arguments, environ) != 0) return -1;
  int status = 1;
  if (waitpid(child, &status, 0) != child || status != 0) return -1;
  return static_cast<double>(monotonic_nanoseconds() - start) / 1e6;
}

int run(int argc, char** argv) {
  const int times = argc == 4 ? std::atoi(argv[3]) : 20;
  if (argc < 3 || argc > 4 || times < 1) {
    std::fprintf(stderr, "usage: startup_bench LAPIRUN HELLO [times]\n");
    return 2;
  }
  Samples samples;
  for (int i = 0; i < times; ++i) {
    samples.push_back(run_once(argv[1], argv[2]));
    if (samples.back() < 0) {
      std::fprintf(stderr, "startup_bench: %s -n 2 %s failed\n", argv[1], argv[2]);
      return 1;
    }
  }
  std::printf("lapirun -n 2 hello, %d times: median %.1f ms, fastest %.1f ms, slowest %.1f ms\n", times,
              median(samples), percentile(samples, 0), percentile(samples, 1));
  return 0;
}

}  // namespace
}  // namespace openlapi::bench

int main(int argc, char** argv) { return openlapi::bench::run(argc, argv); }
