// What lapi_perf says: a table as the rows come, a JSON file, a plot.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "bench/perf/options.h"
#include "bench/perf/runner.h"

namespace openlapi::bench {

// Where and how the figures came about.
struct RunDescription {
  std::string processor;
  std::string kernel;
  std::vector<int> cores;  // of the two tasks; -1: not bound to one
  Mode mode = Mode::polling;
  FlagBounds flag;  // F before the first row
};

RunDescription describe_machine();

void print_header(std::FILE* out, const RunDescription& run);
void print_table_head(std::FILE* out, Wire wire, Mode mode);
// Below it, where direct access was asked for.
void print_not_direct(std::FILE* out, const std::string& reason);
void print_row(std::FILE* out, const Row& row);
// What the marks of the rows mean, if there are any.
void print_notes(std::FILE* out, const RunDescription& run, const std::vector<Row>& rows);

// Whether a file of that name can be written, before anything is measured. False: `error`.
bool can_write(const char* option, const std::string& file, std::string& error);

// False: `error` names the file and what is wrong.
bool write_json(const std::string& file, const RunDescription& run, const std::vector<Row>& rows, std::string& error);
bool write_plot(const std::string& file, const RunDescription& run, const std::vector<Row>& rows, std::string& error);

// A line on a terminal that is written over; elsewhere a line every ten seconds.
class Progress {
 public:
  Progress(std::FILE* out, bool terminal, std::size_t steps);
  void step(const std::string& what);
  void end();

 private:
  std::FILE* out_;
  bool terminal_;
  std::size_t steps_;
  std::size_t done_ = 0;
  std::uint64_t started_;
  std::uint64_t last_said_;
};

}  // namespace openlapi::bench
