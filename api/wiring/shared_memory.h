// The shared memory that a context has with the tasks of its node.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "api/wiring/info_level.h"
#include "api/wiring/routes.h"
#include "control/client/bootstrap.h"
#include "dataplane/transport/transport.h"
#include "shm/known_process.h"

namespace openlapi {

struct SharedMemoryRequest {
  const Settings& settings;
  Bootstrap& bootstrap;
  std::uint32_t instance;    // of the context in its task, 1 to 16
  std::uint32_t generation;  // times this instance was opened before
  shm::Acquaintances& acquaintances;
  std::uint32_t library_threads;  // in the process, not the program's
  TellNotice tell;
};

struct OpenSharedMemory {
  std::unique_ptr<Transport> transport;  // null: there is none, and a network serves all tasks
  ContextRoutes::SharedMemory shared;
  std::vector<int> numbers;  // by task: its number among the tasks that share memory here, or -1; empty: none
};

// LAPI_USE_SHM=yes: a problem is reported and the network serves all tasks; only: a problem is a failure.
bool open_shared_memory(const SharedMemoryRequest& request, OpenSharedMemory& result, OpenFailure& failure);

// Where whoever polls says whether anybody does (Poller::report_absence()). Null: no neighbour wants to know.
std::atomic<std::uint32_t>* unattended_word(const ContextRoutes::SharedMemory& shared);

}  // namespace openlapi
