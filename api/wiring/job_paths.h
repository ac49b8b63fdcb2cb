// What a job prints at MP_INFOLEVEL 1: what carries its messages, and which settings nothing uses. So nobody overlooks
// that messages take a slow path that was not asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "api/wiring/environment.h"
#include "api/wiring/info_level.h"

namespace openlapi {

// As seen by one task.
struct JobPaths {
  std::uint32_t task;
  std::size_t near_tasks;  // other tasks that share memory with it
  std::size_t far_tasks;   // tasks that it reaches over the network
  std::string_view network;
  std::size_t adapters;      // that are open
  std::size_t networks;      // to which MP_INSTANCES applies, each by itself
  const char* adapter_name;  // that the program asks for, or nullptr
};

// Of one task. Each node's first one says what its adapters are good for when one of them fails, and so do those of its
// node that have another number.
struct FailoverMeans {
  std::uint32_t task = 0;
  std::size_t adapters;      // to which the context's instances belong
  std::string_view adapter;  // the first one's name
  const char* adapter_name;  // that the program asks for, or nullptr
  bool followed = false;     // a daemon says which of the peers' adapters are down
};

// Whether one adapter is less than what the settings ask for.
bool asks_for_several(const Settings& settings);
void say_what_can_fail_over(const FailoverMeans& means, const Settings& settings, TellNotice listener);

// Task 0.
void say_what_is_used(const JobPaths& paths, const Settings& settings);
// Another task that does not have what was asked for, and that has another number of adapters than the one that it is
// compared with.
void say_what_is_missing(const JobPaths& paths, const Settings& settings);
// Whether fewer instances or more are open than MP_INSTANCES asks for. As many as there are is what max asks for.
bool has_other_instances(const JobPaths& paths, const Settings& settings);

}  // namespace openlapi
