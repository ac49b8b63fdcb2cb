// --pairs: pairs of tasks that all talk at the same time, perhaps more tasks than cores.
#pragma once

#include "bench/perf/options.h"

namespace openlapi::bench {

// The partner of a task; -1: the pattern does not fit this number of tasks.
int partner_of(int task, int tasks, PairPattern pattern);

// Runs on all tasks; task 0 prints. Returns the exit status.
int run_pairs(const Options& options);

}  // namespace openlapi::bench
