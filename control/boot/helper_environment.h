// What the programs that booting agents start on other nodes, hboot and lamtree, begin with.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>

#include "api/all_opt.h"

namespace openlapi::boot {

// The parameters that -ssi gives, into the environment, where the boot service looks for them.
inline void set_parameters(OPT* args) {
  for (int n = 0; n < ao_ninsts(args, "ssi"); ++n) {
    setenv((std::string("LAM_MPI_SSI_") + ao_param(args, "ssi", n, 0)).c_str(), ao_param(args, "ssi", n, 1), 1);
  }
}

// What lies beside the program is found first: a host's installation may be in nobody's PATH.
inline void add_own_folder(const char* program) {
  const char* slash = std::strrchr(program, '/');
  if (slash == nullptr) return;
  const char* path = std::getenv("PATH");
  setenv("PATH", (std::string(program, slash) + ":" + (path == nullptr ? "/usr/bin:/bin" : path)).c_str(), 1);
}

}  // namespace openlapi::boot
