// What an open context consists of. Members are destroyed from the last to the first; by then the threads have ended,
// and the engine goes before the transports that it uses.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "api/context/completion_threads.h"
#include "api/context/context.h"
#include "api/wiring/environment.h"
#include "api/wiring/routes.h"
#include "control/client/bootstrap.h"
#include "dataplane/base/monotonic_clock.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/poller/poller.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

struct ContextResources {
  Settings settings;
  MonotonicClock clock;
  std::uint32_t instance = 0;
  std::atomic<std::uint32_t> timeout_seconds{0};
  std::atomic<std::uint32_t> ack_threshold{0};
  LAPI_err_hndlr error_handler = nullptr;
  lapi_dev_t protocol = LAPI_DEV_NONE;
  lapi_lib_t library = L1_LIB;
  std::vector<int> shm_numbers;  // by task: its number among the tasks that share memory here, or -1; empty: none
  int shm_tasks = 0;
  std::array<std::atomic<void*>, kAddressTableSize> address_table{};
  ddm_func_t* distribution_function = nullptr;  // null: none

  std::shared_ptr<Bootstrap> bootstrap;
  std::vector<std::unique_ptr<Transport>> transports;
  std::unique_ptr<ContextRoutes> routes;
  std::unique_ptr<HandlerHost> traced_host;  // wraps the context; null: not traced
  std::unique_ptr<Endpoint> endpoint;
  std::unique_ptr<CompletionThreads> completions;
  std::unique_ptr<Poller> poller;
};

}  // namespace openlapi
