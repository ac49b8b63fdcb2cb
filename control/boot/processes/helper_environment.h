// The command lines of hboot and lamtree, the programs that booting agents start on other nodes.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "control/base/session_suffix.h"
#include "control/boot/include/all_opt.h"

namespace openlapi::boot {

// Help is all that is asked for then: what is needed otherwise need not be there.
inline bool wants_help(int argc, char** argv) {
  return std::any_of(argv + 1, argv + argc, [](std::string_view word) { return word == "-h" || word == "--help"; });
}

inline bool refuse_command_line(const std::string& mistake) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, mistake.c_str());
  return false;
}

// Puts the parameters of -ssi into the environment, where the boot service looks for them.
inline bool set_parameters(OPT* args) {
  for (int n = 0; n < ao_ninsts(args, "ssi"); ++n) {
    const std::string key = ao_param(args, "ssi", n, 0);
    if (key.empty() || key.find('=') != std::string::npos) {
      return refuse_command_line("-ssi: the key is \"" + key + "\"; allowed: a parameter's name, such as boot");
    }
    setenv(("LAM_MPI_SSI_" + key).c_str(), ao_param(args, "ssi", n, 1), 1);
  }
  return true;
}

// False: a mistake, which was printed.
inline bool take_command_line(OPT* args, int argc, char** argv) {
  ao_setflags(args, AOPRESERVE_ARGV);
  if (ao_parse(args, &argc, argv) != 0 || !set_parameters(args)) return false;
  int count = 0;
  char** words = nullptr;
  if (ao_unused(args, &count, &words) == 0 && count > 1) {
    return refuse_command_line(std::string("\"") + words[1] + "\" belongs to no option; allowed: options only");
  }
  const char* suffix = ao_param(args, "sessionsuffix", 0, 0);
  const std::string mistake = suffix == nullptr ? "" : suffix_mistake(suffix);
  return mistake.empty() || refuse_command_line(mistake);
}

}  // namespace openlapi::boot
