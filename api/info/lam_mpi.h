// Whether LAM/MPI is on this machine, and whether it finds openlapi's module for it (ssi_rpi_lapi.so).
#pragma once

#include <string>
#include <vector>

namespace openlapi::info {

struct LamReport {
  std::string program;  // LAM's laminfo, which was asked; empty: LAM is not here
  std::string folder;   // of the module; empty: it is in none of those searched
  bool found = false;   // laminfo lists the module
  std::string reason;   // why not; empty: it does
};

// Looks for laminfo in LAMHOME and PATH, and for the module in `folders`. Runs laminfo, which takes some milliseconds.
LamReport report_lam(const std::vector<std::string>& folders);

std::string describe(const LamReport& report);

}  // namespace openlapi::info
