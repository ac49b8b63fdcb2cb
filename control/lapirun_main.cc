// lapirun: starts a job, over the universe that is booted here (control/jobs), else on this machine (control/launch).
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <stdexcept>

#include "control/jobs/universe_start.h"
#include "control/launch/command_line.h"
#include "control/launch/job.h"
#include "control/launch/program_path.h"

namespace openlapi {
namespace {

// A descriptor that is opened later must not become one of these.
void open_standard_descriptors() {
  int fd = 0;
  do {
    fd = open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd > STDERR_FILENO) close(fd);
}

int refuse(int status, const std::string& reason) {
  std::fprintf(stderr, "lapirun: %s\n", reason.c_str());
  return status;
}

int run(const JobOptions& options) {
  if (options.list_jobs) return jobs::list_jobs(options);
  TaskEnvironment environment(environ);
  for (const std::string& variable : options.variables)
    if (!environment.apply(variable))
      return refuse(kExitUsage, "-x " + variable + ": not set here; use -x " + variable + "=VALUE to set it");
  environment.set_default("LAPI_USE_SHM", "yes");
  if (options.standalone) environment.set_default("MP_MSG_API", "lapi");
  if (jobs::is_for_universe(options)) return jobs::run_in_universe(options, environment);
  if (!options.working_directory.empty() && access(options.working_directory.c_str(), X_OK) != 0)
    return refuse(kExitUsage, "--wd '" + options.working_directory + "': " + std::strerror(errno));
  const ProgramPath program = find_program(options.command[0], environment.get("PATH"), options.working_directory);
  if (program.status != 0) return refuse(program.status, program.error);
  forget_other_job();
  // Never destroyed: libpmix's thread lives as long as the process.
  return (new Job(options, program.path, std::move(environment)))->run();
}

}  // namespace
}  // namespace openlapi

int main(int count, char** words) {
  openlapi::open_standard_descriptors();
  int status = openlapi::kExitOwnFailure;
  try {
    const auto parsed = openlapi::parse_command_line({words + 1, words + count}, OPENLAPI_VERSION);
    if (const auto* end = std::get_if<openlapi::CommandLineEnd>(&parsed)) {
      std::fputs(end->text.c_str(), end->status == 0 ? stdout : stderr);
      status = end->status;
    } else {
      status = openlapi::run(std::get<openlapi::JobOptions>(parsed));
    }
  } catch (const std::invalid_argument& wrong) {
    status = openlapi::refuse(openlapi::kExitUsage, wrong.what());
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "lapirun: %s\n", wrong.what());
  }
  std::fflush(nullptr);
  // Not exit: libpmix's thread still runs, and its shutdown may never return.
  _exit(status);
}
