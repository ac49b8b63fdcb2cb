// The environment of the tasks.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace openlapi {

class TaskEnvironment {
 public:
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

 private:
  std::map<std::string, std::string> variables_;
};

}  // namespace openlapi
