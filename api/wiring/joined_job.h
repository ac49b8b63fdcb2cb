// The job whose tasks a context talks to, and how the processes of LAPI programs find theirs.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/wiring/environment.h"
#include "api/wiring/failure.h"
#include "control/client/bootstrap.h"
#include "shm/known_process.h"

namespace openlapi {

// What a process knows of a job, and keeps from one opening to the next. Guarded by opening_turn().
struct JoinedJob {
  std::shared_ptr<Bootstrap> bootstrap;
  bool has_launcher = false;  // the bootstrap tells who is near, and brings what tasks publish
  // So far:
  std::uint32_t threads = 0;  // that finding the bootstrap has started
  bool cookie_known = false;
  bool libraries_compared = false;
  std::optional<std::vector<std::string>> unknown_variables{};           // not set: nobody has looked
  std::array<std::uint32_t, Settings::kMaxInstances + 1> generations{};  // by instance: times it was opened
  std::uint32_t agreements = 0;                                          // times that it has told of its networks
  shm::Acquaintances acquaintances{};
};

// The one that this process was started in.
JoinedJob& job_of_process();

// Its bootstrap: the launcher's, or that of the standalone environment, which is read anew each time. False: there is
// none, or the program's MPI library disagrees about the job.
bool join_job(const Settings& settings, JoinedJob& job, OpenFailure& failure);

}  // namespace openlapi
