// The environment of the tasks.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace openlapi {

class TaskEnvironment {
 public:
  TaskEnvironment() = default;
  // From "NAME=value" entries. What says who this process is in another job (lapirun started by a task) is left out.
  explicit TaskEnvironment(const char* const* inherited);

  // -x: "NAME=value" sets; NAME alone must be there already. False: it is not.
  bool apply(const std::string& variable);

  void set(const std::string& name, const std::string& value) { variables_[name] = value; }
  void set_default(const std::string& name, const std::string& value) { variables_.try_emplace(name, value); }
  // "NAME=value"
  void set_entry(const std::string& entry);
  std::string get(const std::string& name) const;

  std::vector<std::string> entries() const;

  // For a PMIx server in this process: it goes by the tasks' settings of libpmix, and must not believe that it is
  // somebody in another job.
  void apply_to_pmix_server() const;

 private:
  std::map<std::string, std::string> variables_;
};

// The guide's standalone environment (chapter 16) of one task of a job that is all on this node: NAME=value.
std::vector<std::string> standalone_variables(std::uint32_t task, std::uint32_t tasks, const std::string& partition);

}  // namespace openlapi
