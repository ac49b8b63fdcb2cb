#include "api/wiring/shared_memory.h"

#include <cstdio>
#include <string>
#include <utility>

#include "api/wiring/libraries.h"
#include "api/wiring/trace.h"
#include "shm/shm_transport.h"

namespace openlapi {
namespace {

Notice notice_of(ShmFailure failure) {
  switch (failure) {
    case ShmFailure::kCreate:
      return Notice::shared_memory_not_created;
    case ShmFailure::kGet:
    case ShmFailure::kTimeout:
      return Notice::shared_memory_not_found;
    case ShmFailure::kAttach:
      return Notice::shared_memory_not_attached;
    default:
      return Notice::shared_memory_not_set_up;
  }
}

// Hundreds of tasks take turns on few processors, and all may still be coming.
constexpr std::uint32_t kSetupMillisecondsPerTask = 50;

ShmConfig config_of(const SharedMemoryRequest& request) {
  ShmConfig config;
  config.cookie = request.bootstrap.job_cookie();
  config.instance = request.instance;
  config.generation = request.generation;
  config.self = request.bootstrap.task();
  config.local_tasks = request.bootstrap.local_tasks();
  const auto tasks = static_cast<std::uint32_t>(config.local_tasks.size());
  config.setup_timeout_milliseconds += kSetupMillisecondsPerTask * tasks;
  config.version = wire_version();
  config.acquaintances = &request.acquaintances;
  config.direct = request.settings.direct;
  config.alone = config.direct != DirectUse::kNone && ShmDirectMemory::count_threads() == request.library_threads + 1;
  config.tasks_stay_processes = request.bootstrap.can_exchange();
  return config;
}

// Once for all of the node. A task that takes a failed one's place is not one of the group.
void say_that_the_network_serves(const Bootstrap& bootstrap, const ShmSetupError& error) {
  const std::vector<std::uint32_t>& local = bootstrap.local_tasks();
  const bool speaks = bootstrap.task() == (error.leader_is_missing ? local[1] : local.front());
  if (!speaks || error.failure == ShmFailure::kFormed || error.failure == ShmFailure::kPeerEnded) return;
  std::fprintf(stderr, "openlapi: task %u: %s; the tasks of this node talk over the network%s\n", bootstrap.task(),
               error.reason.c_str(),
               error.failure == ShmFailure::kTimeout
                   ? " (has one of them LAPI_USE_SHM=no, or a network namespace of its own?)"
                   : "");
}

// What neighbours reach, and why not the rest.
std::string describe(const DirectReach& reach, bool wants_heap) {
  std::string reached, missing;
  const auto add = [&](const char* what, const std::string& refusal) {
    std::string& list = refusal.empty() ? reached : missing;
    list += (list.empty()      ? ""
             : refusal.empty() ? ", "
                               : "; ") +
            std::string(what) + (refusal.empty() ? "" : " (" + refusal + ")");
  };
  if (wants_heap || reach.no_heap.empty()) add("the heap", reach.no_heap);
  add("static data", reach.no_data);
  add("what is asked for often", reach.no_promotion);
  return "neighbours reach memory directly: " + (reached.empty() ? "nothing" : reached) +
         (missing.empty() ? "" : "; not " + missing);
}

// Who has asked for a heap and does not get it is told once on a node.
void say_whether_direct(const SharedMemoryRequest& request, const ShmTransport& group) {
  const Settings& settings = request.settings;
  if (settings.direct == DirectUse::kNone) return;
  const DirectReach& reach = group.direct_reach();
  const std::uint32_t task = request.bootstrap.task();
  const bool lacks_heap = settings.direct_heap && !reach.no_heap.empty();
  if (settings.info_level >= kLevelInformation) {
    std::fprintf(stderr, "openlapi: task %u: %s (OPENLAPI_DIRECT)\n", task,
                 group.has_direct_memory() ? describe(reach, settings.direct_heap).c_str()
                                           : ("no direct access: " + reach.no_promotion).c_str());
  } else if (lacks_heap && task == request.bootstrap.local_tasks().front()) {
    std::fprintf(stderr, "openlapi: task %u: the heap is not reached directly: %s (OPENLAPI_DIRECT_HEAP)\n", task,
                 reach.no_heap.c_str());
  }
}

// Whether the context can do without it.
bool do_without(const SharedMemoryRequest& request, const ShmSetupError& error, OpenFailure& failure) {
  const bool only = request.settings.shared_memory == SharedMemoryUse::kOnly;
  if (error.failure != ShmFailure::kTooManyTasks) {
    tell(request.tell, notice_of(error.failure), request.settings.info_level, error.reason);
  }
  if (!only) say_that_the_network_serves(request.bootstrap, error);
  // The network does not bring it back either.
  if (error.failure == ShmFailure::kPeerEnded && (only || request.bootstrap.can_exchange())) {
    return fail(failure, FailureKind::neighbour_ended, error.reason);
  }
  const FailureKind kind =
      error.failure == ShmFailure::kTimeout ? FailureKind::neighbours_late : FailureKind::shared_memory;
  return !only || fail(failure, kind, "LAPI_USE_SHM=only: " + error.reason);
}

}  // namespace

bool open_shared_memory(const SharedMemoryRequest& request, OpenSharedMemory& result, OpenFailure& failure) {
  if (request.settings.shared_memory == SharedMemoryUse::kNo) return true;
  const Bootstrap& bootstrap = request.bootstrap;
  const bool only = request.settings.shared_memory == SharedMemoryUse::kOnly;
  const std::vector<std::uint32_t>& local = bootstrap.local_tasks();
  if (only && local.size() != bootstrap.size()) {
    return fail(failure, FailureKind::shared_memory,
                "LAPI_USE_SHM=only, but only " + std::to_string(local.size()) + " of the job's " +
                    std::to_string(bootstrap.size()) + " tasks are on this node" +
                    (bootstrap.can_exchange() ? "" : ", as MP_COMMON_TASKS says (not set: this task is alone)"));
  }
  if (!only && local.size() == 1) {
    tell(request.tell, Notice::alone_on_node, request.settings.info_level,
         "task " + std::to_string(bootstrap.task()) + " is alone on its node");
    return true;
  }
  ShmSetupError error;
  std::unique_ptr<ShmTransport> group = open_shm_transport(config_of(request), error);
  if (group == nullptr) return do_without(request, error, failure);
  say_whether_direct(request, *group);
  result.numbers.assign(bootstrap.size(), -1);
  for (const std::uint32_t task : local) result.numbers[task] = group->local_index(task);
  result.shared.group = group.get();
  result.transport = traced(std::move(group));
  result.shared.path = result.transport.get();
  return true;
}

std::atomic<std::uint32_t>* unattended_word(const ContextRoutes::SharedMemory& shared) {
  return shared.group != nullptr ? shared.group->unattended_word() : nullptr;
}

}  // namespace openlapi
