#include "control/job/node/task_environment.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string_view>

#include "control/client/own_task_page.h"

namespace openlapi {
namespace {

constexpr std::string_view kPmixSettings = "PMIX_MCA_";  // the user's, of libpmix; all else is an identity

// MPICH would believe PMI_.
bool is_identity_of_another_job(std::string_view name) {
  return name.starts_with(kTaskPageVariable) || name.starts_with("PMI_") ||
         (name.starts_with("PMIX_") && !name.starts_with(kPmixSettings));
}

}  // namespace

TaskEnvironment::TaskEnvironment(const char* const* inherited) {
  for (; *inherited != nullptr; ++inherited) {
    const std::string entry(*inherited);
    if (!is_identity_of_another_job(entry)) set_entry(entry);
  }
}

bool TaskEnvironment::apply(const std::string& variable) {
  if (variable.find('=') == std::string::npos) return variables_.contains(variable);
  set_entry(variable);
  return true;
}

void TaskEnvironment::set_entry(const std::string& entry) {
  const std::size_t equals = entry.find('=');
  if (equals != std::string::npos) variables_[entry.substr(0, equals)] = entry.substr(equals + 1);
}

std::string TaskEnvironment::get(const std::string& name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() ? std::string() : found->second;
}

std::vector<std::string> TaskEnvironment::entries() const {
  std::vector<std::string> entries;
  entries.reserve(variables_.size());
  for (const auto& [name, value] : variables_) entries.push_back(name + "=" + value);
  return entries;
}

void TaskEnvironment::apply_to_pmix_server() const {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (is_identity_of_another_job(*entry)) names.emplace_back(*entry, std::strcspn(*entry, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
  for (const auto& [name, value] : variables_)
    if (name.starts_with(kPmixSettings)) setenv(name.c_str(), value.c_str(), 1);
}

std::vector<std::string> standalone_variables(std::uint32_t task, std::uint32_t tasks, const std::string& partition) {
  TaskEnvironment environment;
  std::string common = std::to_string(tasks - 1);
  for (std::uint32_t other = 0; other < tasks; ++other) {
    if (other != task) common.append(":").append(std::to_string(other));
  }
  environment.set("MP_CHILD", std::to_string(task));
  environment.set("MP_COMMON_TASKS", common);
  environment.set("MP_PARTITION", partition);
  environment.set("MP_PROCS", std::to_string(tasks));
  return environment.entries();
}

}  // namespace openlapi
