// The paths to a task in words: what a task prints of them at MP_INFOLEVEL 2, and what lapi_info --job shows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/wiring/routes.h"
#include "dataplane/endpoint/endpoint.h"

namespace openlapi {

struct PathReport {
  std::string path;   // "adapter 1 (udp, 10.0.1.1 to 10.0.1.2 port 40000)"
  std::string state;  // "in use", "for long messages", "silent for 1.203 s", "not there yet"
  double share = 0;   // of the bytes that were sent to the task, 0 to 1
  std::uint64_t packets = 0, bytes = 0, again = 0;  // sent; `again`: retransmissions among the packets
  std::uint64_t lost = 0;                           // of the packets, those that were taken for lost
  std::uint64_t failures = 0;                       // how often the path has failed
  std::uint64_t read = 0;                           // bytes of the task's memory, by the adapter here
  double round_trip = 0;                            // microseconds; 0: not measured
};

// Of all paths over networks. Empty: the task is reached otherwise, or was not talked to.
std::vector<PathReport> report_paths(const Endpoint& endpoint, const ContextRoutes& routes, PeerIndex peer,
                                     Nanoseconds now);

std::string to_text(const PathReport& report);

// To standard error, for each task with several paths; of many tasks the first.
void print_paths(const Endpoint& endpoint, const ContextRoutes& routes, const Bootstrap& bootstrap, Nanoseconds now);

// "adapter 1 (...) has failed: no answer for 15.2 ms; ..."
std::string describe(const PathChange& change, const ContextRoutes& routes);
// Behind "task 0": ": adapter 1 (udp, 10.0.1.9) has another address: 10.0.1.9 port 40000, before 10.0.1.1 port 40000"
// Of an adapter that the program's list does not have: ": adapter 1 of task 3 is there now: 10.0.1.9 port 40000"
std::string describe(const AddressChange& change, const ContextRoutes& routes);

}  // namespace openlapi
