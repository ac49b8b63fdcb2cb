// The allocation of a batch system in which this program runs.
#pragma once

#include <functional>
#include <string>

namespace openlapi {

struct BatchAllocation {
  std::string name;    // "Slurm job 4711"; empty: there is none
  unsigned nodes = 0;  // as its variables say; 0: they do not
  std::string launcher;  // the program that starts tasks on all of them
};

// `read`: as getenv().
BatchAllocation batch_allocation(const std::function<const char*(const char*)>& read);

}  // namespace openlapi
