#include "control/job/node/binding_plan.h"

namespace openlapi {

std::vector<TaskBinding> plan_bindings(const std::vector<Core>& cores, std::size_t tasks) {
  std::vector<TaskBinding> places;
  if (tasks <= cores.size()) {
    for (const Core& core : cores) places.push_back({core.number, core.processors});
  } else {
    bool more = true;
    for (std::size_t thread = 0; more; ++thread) {
      more = false;
      for (const Core& core : cores) {
        if (thread >= core.processors.size()) continue;
        places.push_back({core.number, {core.processors[thread]}});
        more = true;
      }
    }
  }
  if (tasks > places.size()) places.clear();
  places.resize(tasks);
  return places;
}

std::string describe(const TaskBinding& binding) {
  if (binding.processors.empty()) return "not bound";
  std::string text = "core " + std::to_string(binding.core);
  text += binding.processors.size() == 1 ? " (processor " : " (processors ";
  for (std::size_t i = 0; i < binding.processors.size(); ++i) {
    if (i > 0) text += ',';
    text += std::to_string(binding.processors[i]);
  }
  return text + ')';
}

}  // namespace openlapi
