// What a job says at MP_INFOLEVEL 1: what carries its messages, and what was asked for and is used by nobody. That
// messages take a slow path which nobody asked for shall not pass unseen.
#pragma once

#include <cstddef>
#include <string_view>

#include "api/wiring/environment.h"

namespace openlapi {

// Of task 0.
struct JobPaths {
  std::size_t near_tasks;  // others that share memory with it
  std::size_t far_tasks;   // over the network
  std::string_view network;
  std::size_t adapters;      // that are open
  const char* adapter_name;  // that the program asks for, or nullptr
};

void say_what_is_used(const JobPaths& paths, const Settings& settings);

}  // namespace openlapi
