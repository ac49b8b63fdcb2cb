#include "api/wiring/job_paths.h"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/wiring/info_level.h"
#include "nic/modules/announced_modules.h"

namespace openlapi {
namespace {

void say_unused(const char* variable, const std::string& value) {
  std::fprintf(stderr, "openlapi: %s=%s is used by no task: all share memory (LAPI_USE_SHM=no: they do not)\n",
               variable, value.c_str());
}

void say_if_unused(const char* variable) {
  const char* value = std::getenv(variable);
  if (value != nullptr && *value != '\0') say_unused(variable, value);
}

// What was asked of a network that no task needs.
void say_what_is_unused(const JobPaths& paths, const Settings& settings) {
  if (settings.library == CommunicationLibrary::kUserSpace) say_unused("MP_EUILIB", "us");
  if (settings.use_bulk) say_unused("MP_USE_BULK_XFER", "yes");
  for (const char* name :
       {"MP_EUIDEVICE", "MP_INSTANCES", "MP_LAPI_INET_ADDR", "MP_LAPI_NETWORK", "OPENLAPI_MODULES"}) {
    say_if_unused(name);
  }
  for (const ModuleAnnouncement& module : announced_modules()) {
    for (const ModuleVariable& variable : module.variables) say_if_unused(variable.name.data());
  }
  if (paths.adapter_name != nullptr) say_unused("adapter_name", paths.adapter_name);
}

bool names_adapter(const FailoverMeans& means, const Settings& settings) {
  if (means.adapter_name != nullptr) return true;
  return !names_any_adapter(settings.device) && settings.inet_addresses.empty() && settings.network_windows.empty();
}

}  // namespace

bool asks_for_several(const Settings& settings) {
  return settings.instances > 1 || settings.device == "sn_all" || settings.inet_addresses.size() > 1 ||
         settings.network_windows.size() > 1;
}

void say_what_can_fail_over(const FailoverMeans& means, const Settings& settings, TellNotice listener) {
  if (means.adapters > 1 && !means.followed) {
    tell(listener, Notice::failover_without_matrix, settings.info_level,
         "Task " + std::to_string(means.task) + " has " + std::to_string(means.adapters) +
             " adapters; tasks of its node that have another number say so.");
  }
  if (means.adapters != 1 || !asks_for_several(settings)) return;
  if (names_adapter(means, settings)) {
    return tell(listener, Notice::failover_with_named_adapter, settings.info_level,
                "It is " + std::string(means.adapter) + ", the only one of task " + std::to_string(means.task) + ".");
  }
  if (settings.info_level < kLevelWarning) return;
  std::fprintf(
      stderr,
      "openlapi: more than one adapter was asked for, and what task %u has is all on one adapter, %s: failover "
      "and recovery are not possible\n",
      means.task, std::string(means.adapter).c_str());
}

bool has_other_instances(const JobPaths& paths, const Settings& settings) {
  const char* const asked = std::getenv("MP_INSTANCES");
  return settings.instances != 0 && static_cast<std::size_t>(settings.instances) * paths.networks != paths.adapters &&
         asked != nullptr && strcasecmp(asked, "max") != 0;
}

void say_what_is_missing(const JobPaths& paths, const Settings& settings) {
  if (settings.info_level < kLevelWarning || !has_other_instances(paths, settings)) return;
  const std::string networks = paths.networks > 1 ? " on " + std::to_string(paths.networks) + " networks" : "";
  std::fprintf(stderr,
               "openlapi: MP_INSTANCES=%s: a context of task %u has %zu%s, one for each adapter that it opens\n",
               std::getenv("MP_INSTANCES"), paths.task, paths.adapters, networks.c_str());
}

void say_what_is_used(const JobPaths& paths, const Settings& settings) {
  const std::size_t all = paths.near_tasks + paths.far_tasks;
  if (all == 0 || settings.info_level < kLevelWarning) return;
  const std::string network(paths.network);
  const std::string text = paths.far_tasks == 0 ? "all through shared memory"
                           : paths.near_tasks == 0
                               ? "all over " + network
                               : std::to_string(paths.near_tasks) + " through shared memory, the rest over " + network;
  std::fprintf(stderr, "openlapi: task 0 talks to %zu other%s: %s\n", all, all == 1 ? "" : "s", text.c_str());
  if (paths.far_tasks == 0) return say_what_is_unused(paths, settings);
  say_what_is_missing(paths, settings);
  if (settings.use_bulk && settings.library == CommunicationLibrary::kIp) {
    std::fprintf(stderr, "openlapi: MP_USE_BULK_XFER=yes is used by no task: UDP has no bulk transfer\n");
  }
}

}  // namespace openlapi
