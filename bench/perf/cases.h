// The rows of the table: for each operation and size what the library does and what is its floor.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/attach_floor.h"
#include "bench/perf/dpdk_floor.h"
#include "bench/perf/lapi_job.h"
#include "bench/perf/memory_floor.h"
#include "bench/perf/operations.h"
#include "bench/perf/options.h"
#include "bench/perf/rdma_floor.h"
#include "bench/perf/shared_region.h"
#include "bench/perf/udp_sockets.h"
#include "bench/perf/wake_floor.h"

namespace openlapi::bench {

// All that the rows of one transport work with. The same in both tasks.
struct Workbench {
  // `messages`: the same by a context that reaches no memory directly; null: all goes by message.
  Workbench(LapiJob& job, LapiJob* messages, SharedRegion& region, Wire wire, Mode mode, std::size_t largest);
  // False: `error` says why the floors cannot be measured.
  bool open(std::string& error);

  LapiJob& job;
  SharedRegion& region;
  Wire wire;
  Mode mode;
  pid_t peer_process;
  MemoryFloor memory;
  AttachFloor attach;
  bool can_attach;
  UdpSockets udp;
  RdmaFloor rdma;
  DpdkFloor dpdk;
  Operations operations;
  std::optional<Operations> by_message;
  Sleeper sleeper;
};

using Work = std::function<void(std::uint64_t iterations, Samples* samples)>;

struct Case {
  std::string operation;
  std::string variant{};  // what distinguishes rows of one operation and size; may be empty
  std::size_t size = 0;
  std::string floor_name{};  // for the reader; empty: there is no floor
  Work floor{};
  Work library{};
  double bytes = 0;          // moved in the time of one sample; 0: a bandwidth would mean nothing
  bool is_rate = false;      // one sample is the time of one message among many
  std::uint64_t fewest = 1;  // iterations of a slice
};

// In the order of the table. References in the rows live as long as `bench`.
std::vector<Case> make_cases(Workbench& bench, const Options& options);

}  // namespace openlapi::bench
