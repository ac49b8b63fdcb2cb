// The suffix that tells several universes of one user on one machine apart.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "control/base/environment_value.h"

namespace openlapi {

// As LAM's inside a batch job, so that two jobs of a user on one machine do not meet. Batch systems may put a server's
// name behind the number: without - and / nobody takes it for the end of a further daemon's folder (-nNUMBER), and it
// leads nowhere else.
inline std::string batch_suffix() {
  constexpr std::pair<const char*, const char*> kSystems[] = {
      {"PBS_JOBID", "pbs-"}, {"SLURM_JOB_ID", "slurm-"}, {"LSB_JOBID", "lsf-"}, {"JOB_ID", "sge-"}};
  for (const auto& [variable, name] : kSystems) {
    std::string number = environment_value({variable});
    std::ranges::replace_if(
        number, [](char each) { return each == '-' || each == '/'; }, '_');
    if (!number.empty()) return name + number;
  }
  return "";
}

// Empty if this can end a folder's name; else why not.
inline std::string suffix_mistake(const std::string& suffix) {
  if (suffix.find('/') == std::string::npos) return "";
  return "the session suffix is '" + suffix + "'; allowed: the end of a folder's name, without /";
}

// What the user has chosen by a variable.
inline std::string suffix_of_variables() {
  return environment_value({"LAM_MPI_SESSION_SUFFIX", "LAM_MPI_SOCKET_SUFFIX"});
}

// The suffix if no option names one.
inline std::string suffix_of_environment() {
  const std::string suffix = suffix_of_variables();
  return suffix.empty() ? batch_suffix() : suffix;
}

}  // namespace openlapi
