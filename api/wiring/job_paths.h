// What a job prints at MP_INFOLEVEL 1: what carries its messages, and which settings nothing uses. So nobody overlooks
// that messages take a slow path that was not asked for.
#pragma once

#include <cstddef>
#include <string_view>

#include "api/wiring/environment.h"

namespace openlapi {

// As seen by task 0.
struct JobPaths {
  std::size_t near_tasks;  // other tasks that share memory with it
  std::size_t far_tasks;   // tasks that it reaches over the network
  std::string_view network;
  std::size_t adapters;      // that are open
  const char* adapter_name;  // that the program asks for, or nullptr
};

void say_what_is_used(const JobPaths& paths, const Settings& settings);

}  // namespace openlapi
