// lapi_perf: latency, bandwidth and rate of every LAPI operation between two tasks, each beside the bare machine's.
// Reading order: cases.cc (the rows), runner.cc (how one is measured), operations.h and the floors (what is measured).
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "bench/perf/cases.h"
#include "bench/perf/direct_access.h"
#include "bench/perf/options.h"
#include "bench/perf/pairs.h"
#include "bench/perf/report.h"
#include "bench/perf/runner.h"

namespace openlapi::bench {
namespace {

// What this process is in its job before LAPI_Init tells: every task reads the same command line, one complains.
bool speaks_for_job() {
  for (const char* name : {"PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "MP_CHILD"}) {
    const char* rank = std::getenv(name);
    if (rank != nullptr) return std::string(rank) == "0";
  }
  return true;
}

// The core that this task is bound to, after binding it to one of its own when the launcher has left it several.
int bind_to_core(int task, bool may_bind) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return -1;
  const int count = CPU_COUNT(&allowed);
  int skip = count == 1 ? 0 : task % count;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || skip-- != 0) continue;
    if (count == 1) return core;
    if (!may_bind) return -1;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0 ? core : -1;
  }
  return -1;
}

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "lapi_perf: %s\n", why.c_str());
  std::_Exit(1);
}

// Task 0's memory file, opened by task 1.
void share_region(LapiJob& job, SharedRegion& region) {
  std::string error;
  if (job.task() == 0 && !region.create(error)) give_up(error);
  const std::uint64_t ticket = job.exchange(job.task() == 0 ? region.ticket() : 0);
  if (job.task() == 1 && !region.open(ticket, error)) give_up(error);
  job.fence_all();
}

// Over some hundred milliseconds: a state that lasts for a moment shall not count as the usual one. Task 0's figure.
FlagBounds usual_flag(Workbench& bench) {
  constexpr int kLooks = 60;
  constexpr std::uint64_t kIterations = 1000;
  Samples looks;
  for (int look = 0; look < kLooks; ++look) {
    Samples samples;
    bench.memory.flag(kIterations, 2, &samples);
    if (look != 0) looks.push_back(median(std::move(samples)));  // the first one warms up
  }
  return {median(std::move(looks))};
}

void check_tasks(LapiJob& job) {
  if (job.tasks() == 2) return;
  if (job.task() == 0) {
    std::fprintf(stderr,
                 "lapi_perf: the table needs 2 tasks, this job has %d: start it with lapirun -n 2 lapi_perf, or use "
                 "--pairs\n",
                 job.tasks());
  }
  job.fence_all();  // the first task to end has the others ended: task 0 must have spoken
  std::_Exit(2);
}

// Before the last transport: operations that have no row with any, as the library copies messages of all their sizes,
// or of none.
void check_rows(LapiJob& job, const Options& options, const std::vector<Row>& rows, const std::vector<Case>& cases) {
  std::string missing;
  for (const std::string& operation : options.operations) {
    if (std::ranges::find(rows, operation, &Row::operation) != rows.end()) continue;
    if (std::ranges::find(cases, operation, &Case::operation) != cases.end()) continue;
    missing.append(missing.empty() ? "" : ",").append(operation);
  }
  if (missing.empty()) return;
  if (job.task() == 0) {
    std::fprintf(stderr, "lapi_perf: --ops %s: nothing to measure with these sizes (--sizes)\n", missing.c_str());
  }
  std::fflush(stdout);
  job.fence_all();
  std::_Exit(2);
}

// A context that sends messages where another one has no need to. Null: none does, or `why_not` says why none can.
std::unique_ptr<LapiJob> open_messages(Wire wire, const Options& options, std::size_t largest, std::string& why_not) {
  if (wire != Wire::shm || !asks_for_direct_access()) return nullptr;
  why_not = why_not_directly();
  if (!why_not.empty()) return nullptr;
  const MessagesOnly messages_only;
  return std::make_unique<LapiJob>(wire, options.mode, largest);
}

void measure_wire(Wire wire, const Options& options, RunDescription& run, std::vector<Row>& rows) {
  const std::size_t largest = std::max<std::size_t>(options.sizes.back(), 4096);
  std::string not_direct;
  // The first one, so that active messages are delivered to the other one.
  const std::unique_ptr<LapiJob> messages = open_messages(wire, options, largest, not_direct);
  LapiJob job(wire, options.mode, largest);
  check_tasks(job);
  SharedRegion region;
  job.exchange_addresses(job.task() == 0 ? 1 : 0);
  if (messages != nullptr) messages->exchange_addresses(job.peer());
  share_region(job, region);
  const int core = bind_to_core(job.task(), options.pin && options.mode == Mode::polling);
  const int other = static_cast<int>(static_cast<std::int64_t>(region.exchange(static_cast<std::uint64_t>(core))));
  Workbench bench(job, messages.get(), region, wire, options.mode, largest);
  std::string error;
  if (!bench.open(error)) give_up(error);
  const bool speaks = job.task() == 0;
  const std::vector<Case> cases = make_cases(bench, options);
  if (wire == options.wires.back()) check_rows(job, options, rows, cases);
  if (cases.empty()) return job.fence_all();
  const FlagBounds flag = usual_flag(bench);
  if (speaks && rows.empty()) {
    run.cores = {core, other};
    run.flag = flag;
    print_header(stdout, run);
  }
  if (speaks) print_table_head(stdout, wire, options.mode);
  if (speaks && !not_direct.empty()) print_not_direct(stdout, not_direct);
  Runner runner(bench, options, flag);
  Progress progress(stderr, isatty(STDERR_FILENO) == 1, cases.size());
  for (const Case& row : cases) {
    if (speaks) progress.step(std::string(name_of(wire)) + " " + row.operation + " " + size_text(row.size));
    rows.push_back(runner.run(row));
    if (!speaks) continue;
    progress.end();
    print_row(stdout, rows.back());
  }
  job.fence_all();
}

int run_table(const Options& options) {
  std::string unwritable;
  if (speaks_for_job() &&
      !(can_write("--json", options.json_file, unwritable) && can_write("--plot", options.plot_file, unwritable))) {
    give_up(unwritable);
  }
  RunDescription run = describe_machine();
  run.mode = options.mode;
  std::vector<Row> rows;
  int task = 0;
  for (const Wire wire : options.wires) measure_wire(wire, options, run, rows);
  task = run.cores.empty() ? 1 : 0;
  if (task != 0) return 0;
  print_notes(stdout, run, rows);
  std::string error;
  bool written = options.json_file.empty() || write_json(options.json_file, run, rows, error);
  if (!written) std::fprintf(stderr, "lapi_perf: %s\n", error.c_str());
  if (!options.plot_file.empty() && !write_plot(options.plot_file, run, rows, error)) {
    std::fprintf(stderr, "lapi_perf: %s\n", error.c_str());
    written = false;
  }
  return written ? 0 : 1;
}

int run(int argc, char** argv) {
  const char* shared_memory = std::getenv("LAPI_USE_SHM");
  const ParsedOptions parsed = parse_options(argc, argv, shared_memory);
  if (parsed.exit) {
    if (speaks_for_job()) {
      std::fputs(parsed.text.c_str(), parsed.status == 0 ? stdout : stderr);
    } else if (parsed.status != 0) {
      sleep(
          2);  // the launcher ends us as soon as task 0 has spoken and failed; were we first, it would not get to speak
    }
    return parsed.status;
  }
  return parsed.options.pairs != PairPattern::none ? run_pairs(parsed.options) : run_table(parsed.options);
}

}  // namespace
}  // namespace openlapi::bench

int main(int argc, char** argv) {
  try {
    return openlapi::bench::run(argc, argv);
  } catch (const std::exception& error) {
    openlapi::bench::give_up(error.what());  // lapirun then ends the other tasks
  }
}
