// How a context's dataplane thread works, and where it runs.
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

// What has to be known about the task. `networks`: the thread is placed by the first one whose adapter's place is
// known.
struct ThreadRequest {
  const Settings& settings;
  ThreadNumber number;
  bool placed_by_program;  // it passes thread attributes: then threads are not pinned unless the user asks for it
  std::span<const ContextRoutes::Network> networks;
};

// False: OPENLAPI_THREAD_CPU names a processor that the task may not use.
bool plan_thread(const ThreadRequest& request, ThreadPlan& plan, OpenFailure& failure);

// One line: "adaptive (polls up to 50 us, then sleeps), not pinned: OPENLAPI_THREAD_CPU=none".
std::string describe(const ThreadPlan& plan);

}  // namespace openlapi
