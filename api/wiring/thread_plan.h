// How a context's dataplane thread works and where it runs.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "api/wiring/routes.h"
#include "dataplane/poller/poller.h"
#include "dataplane/poller/thread_placement.h"

namespace openlapi {

struct ThreadPlan {
  PollerConfig poller;
  Placement placement;
};

// What is to be known of the task. `networks`: the adapter is the first one of them whose place is known.
struct ThreadRequest {
  const Settings& settings;
  ThreadNumber number;
  bool placed_by_program;  // it has attributes for its threads: they are not pinned without being asked
  std::span<const ContextRoutes::Network> networks;
};

// False: OPENLAPI_THREAD_CPU names a processor that the task may not use.
bool plan_thread(const ThreadRequest& request, ThreadPlan& plan, OpenFailure& failure);

// One line: "adaptive (polls up to 50 us, then sleeps), not pinned: OPENLAPI_THREAD_CPU=none".
std::string describe(const ThreadPlan& plan);

}  // namespace openlapi
