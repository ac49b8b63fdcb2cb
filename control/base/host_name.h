// The name of this machine.
#pragma once

#include <unistd.h>

#include <string>

namespace openlapi {

inline std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

}  // namespace openlapi
