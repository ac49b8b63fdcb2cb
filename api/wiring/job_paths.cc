#include "api/wiring/job_paths.h"

#include <strings.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "api/wiring/info_level.h"

namespace openlapi {
namespace {

void say_unused(const char* variable, const std::string& value) {
  std::fprintf(stderr, "openlapi: %s=%s is used by no task: all share memory (LAPI_USE_SHM=no: they do not)\n",
               variable, value.c_str());
}

// What was asked of a network that no task needs.
void say_what_is_unused(const JobPaths& paths, const Settings& settings) {
  if (settings.library == CommunicationLibrary::kUserSpace) say_unused("MP_EUILIB", "us");
  if (settings.use_bulk) say_unused("MP_USE_BULK_XFER", "yes");
  for (const char* name : {"MP_EUIDEVICE", "MP_INSTANCES", "MP_LAPI_INET_ADDR", "MP_LAPI_NETWORK", "OPENLAPI_MODULES",
                           "OPENLAPI_DPDK_ARGUMENTS"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') say_unused(name, value);
  }
  if (paths.adapter_name != nullptr) say_unused("adapter_name", paths.adapter_name);
}

// What was asked of one that has less. As many as there are is what max asks for.
void say_what_is_missing(const JobPaths& paths, const Settings& settings) {
  const char* const asked = std::getenv("MP_INSTANCES");
  if (settings.instances != 0 && static_cast<std::size_t>(settings.instances) != paths.adapters && asked != nullptr &&
      strcasecmp(asked, "max") != 0) {
    std::fprintf(stderr, "openlapi: MP_INSTANCES=%s: a context has %zu here, one for each adapter that it opens\n",
                 asked, paths.adapters);
  }
  if (settings.use_bulk && settings.library == CommunicationLibrary::kIp) {
    std::fprintf(stderr, "openlapi: MP_USE_BULK_XFER=yes is used by no task: UDP has no bulk transfer\n");
  }
}

}  // namespace

void say_what_is_used(const JobPaths& paths, const Settings& settings) {
  const std::size_t all = paths.near_tasks + paths.far_tasks;
  if (all == 0 || settings.info_level < kLevelWarning) return;
  const std::string network(paths.network);
  const std::string text = paths.far_tasks == 0 ? "all through shared memory"
                           : paths.near_tasks == 0
                               ? "all over " + network
                               : std::to_string(paths.near_tasks) + " through shared memory, the rest over " + network;
  std::fprintf(stderr, "openlapi: task 0 talks to %zu other%s: %s\n", all, all == 1 ? "" : "s", text.c_str());
  if (paths.far_tasks == 0) {
    say_what_is_unused(paths, settings);
  } else {
    say_what_is_missing(paths, settings);
  }
}

}  // namespace openlapi
