// Which task runs on which processors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace openlapi {

// A core, with the kernel's numbers of those of its hardware threads that may be used: at least one.
struct Core {
  unsigned number = 0;
  std::vector<unsigned> processors{};
};

// What a task may run on; no processors: it is not bound.
struct TaskBinding {
  unsigned core = 0;
  std::vector<unsigned> processors{};
};

// One entry per task. A core each while there are enough, else a hardware thread each, going round the cores; with more
// tasks than hardware threads nobody is bound.
std::vector<TaskBinding> plan_bindings(const std::vector<Core>& cores, std::size_t tasks);

// "core 1 (processors 2,3)" or "not bound".
std::string describe(const TaskBinding& binding);

}  // namespace openlapi
