// Measures one row: floor and library in turn, slice by slice, so that both see the same states of the machine.
#pragma once

#include <cstdint>
#include <string>

#include "bench/perf/cases.h"
#include "bench/perf/statistics.h"

namespace openlapi::bench {

// What F usually is on this machine, and how far from that it may be while a row is measured (nanoseconds). Some
// virtual machines run their processors in several states, up to ten times apart.
struct FlagBounds {
  static constexpr double kMostApart = 1.5;

  double usual = 0;

  double low() const { return usual / kMostApart; }
  double high() const { return usual * kMostApart; }
  bool hold(double flag) const { return flag >= low() && flag <= high(); }
};

struct Row {
  Wire wire = Wire::shm;
  std::string operation;
  std::string variant;
  std::size_t size = 0;
  std::string floor_name;
  Comparison figures;
  double bytes = 0;
  bool is_rate = false;
  double flag = 0;       // F during this row, nanoseconds; 0: not measured (udp)
  bool unusual = false;  // F was out of the bounds, also when repeated
  unsigned repeats = 0;

  // Bytes per second; 0: means nothing here.
  double bandwidth() const { return bandwidth_at(figures.median); }
  double floor_bandwidth() const { return bandwidth_at(figures.floor); }
  double bandwidth_at(double nanoseconds) const { return bytes > 0 && nanoseconds > 0 ? bytes / nanoseconds * 1e9 : 0; }
};

class Runner {
 public:
  Runner(Workbench& bench, const Options& options, const FlagBounds& bounds);

  // Called by both tasks with the same row; the figures are task 0's.
  Row run(const Case& row);

 private:
  std::uint64_t calibrate(const Work& work, std::uint64_t fewest);
  void quiet();
  void measure(const Case& row, Row& result);

  Workbench& bench_;
  const FlagBounds bounds_;
  unsigned slices_;
  double slice_;  // nanoseconds
  std::uint64_t fixed_iterations_;
  unsigned repeats_left_;
};

}  // namespace openlapi::bench
