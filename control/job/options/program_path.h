// Finds the program to start, as a shell would, before anything is started.
#pragma once

#include <string>

namespace openlapi {

struct ProgramPath {
  std::string path{};  // what to execute; if relative, from the tasks' working directory
  int status = 0;      // else: kExitNotFound, kExitNotExecutable or, of the directory, kExitUsage; and
  std::string error{};
};

// `search_path`: PATH of the tasks. `directory`: their working directory, empty for this process's own.
ProgramPath find_program(const std::string& name, const std::string& search_path, const std::string& directory);

}  // namespace openlapi
