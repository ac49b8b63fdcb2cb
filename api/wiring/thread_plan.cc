#include "api/wiring/thread_plan.h"

#include <unistd.h>

#include <algorithm>

#include "dataplane/poller/machine_cores.h"
#include "nic/udp/udp_adapters.h"

namespace openlapi {

namespace {

PollerConfig poller_config(const Settings& settings, std::size_t allowed, unsigned tasks) {
  const auto online = static_cast<unsigned>(sysconf(_SC_NPROCESSORS_ONLN));
  const unsigned usable = allowed != 0 ? static_cast<unsigned>(allowed) : online;
  const bool own_core = owns_core(usable, online, tasks);
  PollerConfig config;
  config.wait = own_core ? kOwnCoreWait : kSharedCoreWait;
  // The dataplane thread owns a core only if there is one more than the task's own thread uses.
  const bool thread_owns_core = own_core && usable >= 2 * tasks;
  config.pacing = {settings.thread_policy, thread_owns_core ? kOwnCoreSpin : kSharedCoreSpin, !thread_owns_core};
  config.longest_sleep = static_cast<Nanoseconds>(settings.polling_interval) * kMicrosecond;
  return config;
}

// UDP's networks are known by their addresses, user space ones by a text that begins with the device.
std::string device_of(const ContextRoutes::Network& network) {
  for (const LocalAdapter& adapter : list_adapters()) {
    if (to_text(adapter.address) == network.device) return adapter.name;
  }
  return network.device.substr(0, network.device.find_first_of(" ,"));
}

std::vector<int> near_processors(std::span<const ContextRoutes::Network> networks) {
  for (const ContextRoutes::Network& network : networks) {
    const std::string device = device_of(network);
    std::vector<int> near = processors_near(device);
    if (near.empty()) near = processors_near(device.substr(0, device.find(':')));
    if (!near.empty()) return near;
  }
  return {};
}

Placement place(const ThreadRequest& request, const std::vector<int>& allowed) {
  if (request.settings.thread_place == ThreadPlace::kListed) {
    return {place_as_listed(request.settings.thread_processors, request.number), "OPENLAPI_THREAD_CPU"};
  }
  if (request.settings.thread_place == ThreadPlace::kNone) return {-1, "OPENLAPI_THREAD_CPU=none"};
  if (request.placed_by_program) return {-1, "the program has attributes for its threads"};
  // Reading the machine's cores takes milliseconds: not where the answer is known.
  if (allowed.size() < std::size_t{2} * request.number.tasks) return place_near({allowed}, allowed, request.number);
  const std::vector<int> near = near_processors(request.networks);
  return place_near(near.empty() ? std::vector<std::vector<int>>{} : allowed_cores(), near, request.number);
}

// Most tasks are bound by what starts them and their users do not know it.
std::string why_not_allowed(int processor) {
  if (processor >= sysconf(_SC_NPROCESSORS_CONF)) return "this machine has no processor " + std::to_string(processor);
  return "this task is bound to others than processor " + std::to_string(processor) +
         " (lapirun binds each task to a core; --bind none leaves it free)";
}

}  // namespace

bool plan_thread(const ThreadRequest& request, ThreadPlan& plan, OpenFailure& failure) {
  const std::vector<int> allowed = allowed_processors();
  plan.poller = poller_config(request.settings, allowed.size(), request.number.tasks);
  plan.placement = place(request, allowed);
  const int processor = plan.placement.processor;
  if (processor < 0 || std::find(allowed.begin(), allowed.end(), processor) != allowed.end()) return true;
  return fail(failure, FailureKind::setting,
              "OPENLAPI_THREAD_CPU=" + to_ranges(request.settings.thread_processors) + ": " +
                  why_not_allowed(processor) + "; allowed is near, none, or those of " + to_ranges(allowed));
}

std::string describe(const ThreadPlan& plan) {
  const PacingLimits& pacing = plan.poller.pacing;
  std::string text = "adaptive (polls up to " + std::to_string(pacing.spin / kMicrosecond) + " us, then sleeps)";
  if (pacing.policy == ThreadPolicy::sleep) text = "sleep";
  if (pacing.policy == ThreadPolicy::spin) text = pacing.shares_core ? "spin (yields, it shares its core)" : "spin";
  if (plan.placement.processor < 0) return text + ", not pinned: " + plan.placement.reason;
  return text + ", pinned to processor " + std::to_string(plan.placement.processor) + ": " + plan.placement.reason;
}

}  // namespace openlapi
