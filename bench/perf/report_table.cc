#include <sys/utsname.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "api/include/lapi.h"
#include "bench/perf/report.h"

namespace openlapi::bench {
namespace {

constexpr std::uint64_t kBetweenLines = 10'000'000'000;  // nanoseconds

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown processor";
}

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string microseconds(double nanoseconds) {
  return format(nanoseconds < 100'000 ? "%.3f" : "%.1f", nanoseconds / 1000);
}

std::string amount(const Row& row) {
  if (row.figures.median <= 0) return "-";
  if (row.is_rate) return format("%.2f M/s", 1000 / row.figures.median);
  if (row.bytes <= 0) return "-";
  return row.bandwidth() >= 1e9 ? format("%.2f GB/s", row.bandwidth() / 1e9)
                                : format("%.1f MB/s", row.bandwidth() / 1e6);
}

}  // namespace

RunDescription describe_machine() {
  RunDescription run;
  run.processor = processor_name();
  utsname names{};
  if (uname(&names) == 0) run.kernel = std::string(names.sysname) + " " + names.release;
  return run;
}

void print_header(std::FILE* out, const RunDescription& run) {
  std::fprintf(out, "openlapi %s: lapi_perf, 2 tasks\n", OPENLAPI_VERSION);
  std::fprintf(out, "%s, %s; tasks on cores", run.processor.c_str(), run.kernel.c_str());
  for (const int core : run.cores) {
    core < 0 ? std::fprintf(out, " (any)") : std::fprintf(out, " %d", core);
  }
  std::fprintf(out, "; clock: %s\n", clock_name());
  std::fprintf(out,
               "F, half round trip of a flag in one cache line, is %.3f us\nEach row: floor and library in turn, "
               "medians; ratio and difference are medians over the turns.\n",
               run.flag.usual / 1000);
}

void print_table_head(std::FILE* out, Wire wire, Mode mode) {
  std::fprintf(out, "\n%s, %s mode\n", title_of(wire), name_of(mode));
  std::fprintf(out, "%-20s %5s %10s %10s %11s %10s %6s %9s  %s\n", "operation", "size", "median us", "p99 us",
               "bandwidth", "floor us", "ratio", "more us", "floor");
  std::fflush(out);
}

void print_not_direct(std::FILE* out, const std::string& reason) {
  std::fprintf(out, "all by message, none directly (OPENLAPI_DIRECT): %s\n", reason.c_str());
}

void print_row(std::FILE* out, const Row& row) {
  const std::string name = row.operation + (row.variant.empty() ? "" : " " + row.variant);
  const Comparison& f = row.figures;
  const bool compared = f.floor > 0 && f.samples > 0;
  const std::string middle = f.samples > 0 ? microseconds(f.median) : "-";
  const std::string high = f.samples > 0 && !row.is_rate ? microseconds(f.p99) : "-";
  std::fprintf(out, "%-20s %5s %10s %10s %11s %10s %6s %9s  %s%s%s\n", name.c_str(), size_text(row.size).c_str(),
               middle.c_str(), high.c_str(), amount(row).c_str(), f.floor > 0 ? microseconds(f.floor).c_str() : "-",
               compared ? format("%.2f", f.ratio).c_str() : "-",
               compared ? format("%+.3f", f.difference / 1000).c_str() : "-", row.floor_name.c_str(),
               row.unusual ? (" *F=" + microseconds(row.flag)).c_str() : "", f.samples == 0 ? " (never slept)" : "");
  std::fflush(out);
}

void print_notes(std::FILE* out, const RunDescription& run, const std::vector<Row>& rows) {
  const auto unusual = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.unusual; });
  const auto repeated = std::count_if(rows.begin(), rows.end(), [](const Row& row) { return row.repeats != 0; });
  if (repeated != 0) {
    std::fprintf(out,
                 "\n%td rows were repeated: F was not between %.3f and %.3f us, as near to what it was at first.\n",
                 repeated, run.flag.low() / 1000, run.flag.high() / 1000);
  }
  if (unusual != 0) {
    std::fprintf(out,
                 "* %td rows were measured while F was outside of these bounds (F of the row, us): compare them with "
                 "their own floors only.\n",
                 unusual);
  }
  std::fflush(out);
}

Progress::Progress(std::FILE* out, bool terminal, std::size_t steps)
    : out_(out), terminal_(terminal), steps_(steps), started_(monotonic_nanoseconds()), last_said_(started_) {}

void Progress::step(const std::string& what) {
  const std::uint64_t now = monotonic_nanoseconds();
  const std::uint64_t left = done_ == 0 ? 0 : (now - started_) / done_ * (steps_ - done_) / 1'000'000'000;
  ++done_;
  if (!terminal_ && now - last_said_ < kBetweenLines) return;
  last_said_ = now;
  std::fprintf(out_, "%slapi_perf: row %zu of %zu, %s", terminal_ ? "\r\033[K" : "", done_, steps_, what.c_str());
  if (left > 0) std::fprintf(out_, ", about %llu s left", static_cast<unsigned long long>(left));
  if (!terminal_) std::fputc('\n', out_);
  std::fflush(out_);
}

void Progress::end() {
  if (terminal_) std::fputs("\r\033[K", out_);
  std::fflush(out_);
}

}  // namespace openlapi::bench
