#include "api/wiring/joined_job.h"

#include <cstdlib>

#include "api/wiring/mistyped_variables.h"
#include "api/wiring/mpi_library.h"
#include "shm/shm_direct_memory.h"

namespace openlapi {

namespace {

const char* read_variable(const char* name) { return std::getenv(name); }

// Whoever sends packets needs a secret that strangers do not know. Shared memory alone is kept from other users by the
// kernel, and in user space mode the daemon's network table comes with a random cookie.
std::optional<SecretPlace> secret_place(const Settings& settings) {
  const bool over_udp =
      settings.library == CommunicationLibrary::kIp && settings.shared_memory != SharedMemoryUse::kOnly;
  if (!over_udp || settings.secret == SecretSource::kPartition) return std::nullopt;
  return SecretPlace{settings.secret_file};
}

bool find_bootstrap(const Settings& settings, JoinedJob& job, OpenFailure& failure) {
  if (job.has_launcher) return true;
  std::string reason;
  const bool counts = settings.direct != DirectUse::kNone;
  const std::uint32_t before = counts ? ShmDirectMemory::count_threads() : 0;
  job.bootstrap = open_pmix_bootstrap(reason);
  job.threads = counts ? ShmDirectMemory::count_threads() - before : 0;
  job.has_launcher = job.bootstrap != nullptr;
  if (job.has_launcher) return true;
  if (settings.message_api == MessageApi::kUnset) {
    return fail(failure, FailureKind::message_interfaces,
                "MP_MSG_API is not set and no launcher is there (" + reason +
                    "); without a launcher it must be lapi, 'lapi,mpi', 'mpi,lapi' or mpi_lapi");
  }
  bool missing = false;
  job.bootstrap = open_standalone_bootstrap(read_variable, secret_place(settings), reason, missing);
  const FailureKind kind =
      reason.starts_with("MP_COMMON_TASKS") ? FailureKind::shared_memory : FailureKind::task_numbers;
  return job.bootstrap != nullptr || fail(failure, kind, reason);
}

}  // namespace

JoinedJob& job_of_process() {
  static JoinedJob* job = new JoinedJob;  // never destroyed, as the contexts
  return *job;
}

bool join_job(const Settings& settings, JoinedJob& job, OpenFailure& failure) {
  const bool found = find_bootstrap(settings, job, failure);
  if (!job.unknown_variables) {
    job.unknown_variables = look_at_variables(!found || job.bootstrap->task() == 0 || !job.has_launcher);
  }
  if (!found) return false;
  std::string reason;
  return mpi_is_in_the_job(mpi_library(), *job.bootstrap, read_variable, reason) ||
         fail(failure, FailureKind::message_interfaces, reason);
}

}  // namespace openlapi
