// lapirun: starts a job, over the universe that is booted here, else on this machine.
// lamexec is the same for programs that are no tasks.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <numeric>
#include <stdexcept>

#include "control/base/heap_libraries.h"
#include "control/base/host_name.h"
#include "control/base/installed_programs.h"
#include "control/base/standard_descriptors.h"
#include "control/job/node/direct_heap.h"
#include "control/job/options/batch_allocation.h"
#include "control/job/options/command_line.h"
#include "control/job/options/program_path.h"
#include "control/job/options/this_host.h"
#include "control/job/origin/job.h"
#include "control/job/origin/local_link.h"
#include "control/job/origin/universe_start.h"

namespace openlapi {
namespace {

constexpr Launcher kLauncher = Launcher::OPENLAPI_LAUNCHER;

int refuse(int status, const std::string& reason) {
  std::fprintf(stderr, "%s: %s\n", program_name(kLauncher), reason.c_str());
  return status;
}

// Of -D: the program by its whole name, and its folder as working directory.
int enter_program_folder(JobOptions& options, const TaskEnvironment& environment) {
  const ProgramPath program = find_program(options.command[0], environment.get("PATH"), "");
  if (program.status != 0) return refuse(program.status, program.error);
  const auto path = std::filesystem::absolute(program.path).lexically_normal();
  options.command[0] = path.string();
  options.working_directory = path.parent_path().string();
  return 0;
}

// Of -nw: the caller goes on, and the job in the background, without its standard input. True: this is the caller.
bool leave_to_background() {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child != 0) return child > 0;
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(null, STDIN_FILENO);
  close(null);
  return false;
}

// Where mpirun would start tasks on every node of the allocation. One task, where that is asked for, has no other
// place.
void say_where_tasks_run(const JobOptions& options) {
  if (options.universe != UseUniverse::kIfBooted || options.standalone || options.placement.names_places()) return;
  if (options.placement.tasks == 1) return;
  const BatchAllocation allocation = batch_allocation([](const char* name) { return std::getenv(name); });
  if (allocation.nodes < 2) return;
  refuse(0, "all tasks run on this host, " + host_name() + ": no universe is booted here (lamboot) in " +
                allocation.name + " of " + std::to_string(allocation.nodes) +
                " nodes; --no-universe where this is meant, or " + allocation.launcher);
}

// Of a job that is all on this machine, in this process.
int run_here(JobOptions options, const TaskEnvironment& environment) {
  jobs::JobNode here{0, host_name(), std::vector<std::uint32_t>(options.tasks)};
  std::iota(here.tasks.begin(), here.tasks.end(), 0U);
  // As it was written: the kernel may find its way from here where its absolute name leads elsewhere.
  const std::string directory = options.working_directory;
  // Never destroyed: libpmix's thread lives as long as the process.
  auto* signals = new SignalSource;
  auto* link = new jobs::LocalLink(options.standalone, *signals);
  return (new jobs::Job(std::move(options), {std::move(here)}, *signals, *link))->run(environment, directory);
}

int run(JobOptions options) {
  if (options.list_jobs) return jobs::list_jobs(options);
  for (const std::string& notice : options.notices) refuse(0, notice);
  TaskEnvironment environment(environ);
  // Tasks, too, are to find the daemon that is meant.
  if (!options.session_prefix.empty()) {
    environment.set_entry("LAM_MPI_SESSION_PREFIX=" + std::filesystem::absolute(options.session_prefix).string());
  }
  if (!options.session_suffix.empty()) environment.set_entry("LAM_MPI_SESSION_SUFFIX=" + options.session_suffix);
  for (const std::string& variable : options.variables)
    if (!environment.apply(variable))
      return refuse(kExitUsage, "-x " + variable + ": not set here; use -x " + variable + "=VALUE to set it");
  if (options.launcher == Launcher::kLapirun && !preload_heap(environment, own_module(kHeapLibrary))) {
    refuse(0, std::string("the heap is not reached directly: ") + kHeapLibrary + " is not installed");
  }
  if (options.standalone) {
    environment.set_default("LAPI_USE_SHM", "yes");
    environment.set_default("MP_MSG_API", "lapi");
    // MP_PARTITION will have 128 random bits: a secret, as only this user can read the tasks' environment.
    if (environment.get("OPENLAPI_SECRET_FILE").empty()) environment.set_default("OPENLAPI_SECRET", "partition");
  }
  if (options.in_program_folder) {
    if (const int status = enter_program_folder(options, environment); status != 0) return status;
  }
  if (jobs::is_for_universe(options)) {
    if (!options.wait && leave_to_background()) return 0;
    return jobs::run_in_universe(options, environment);
  }
  say_where_tasks_run(options);
  options.tasks = tasks_here(options.placement);
  if (!options.wait) {
    const ProgramPath program = find_program(options.command[0], environment.get("PATH"), options.working_directory);
    if (program.status != 0) return refuse(program.status, program.error);
    if (leave_to_background()) return 0;
  }
  return run_here(std::move(options), environment);
}

}  // namespace
}  // namespace openlapi

int main(int count, char** words) {
  openlapi::open_standard_descriptors();
  int status = openlapi::kExitOwnFailure;
  try {
    const auto parsed = openlapi::parse_command_line({words + 1, words + count}, OPENLAPI_VERSION, openlapi::kLauncher);
    if (const auto* end = std::get_if<openlapi::CommandLineEnd>(&parsed)) {
      std::fputs(end->text.c_str(), end->status == 0 ? stdout : stderr);
      status = end->status;
    } else {
      status = openlapi::run(std::get<openlapi::JobOptions>(parsed));
    }
  } catch (const std::invalid_argument& wrong) {
    status = openlapi::refuse(openlapi::kExitUsage, wrong.what());
  } catch (const std::exception& wrong) {
    openlapi::refuse(status, wrong.what());
  }
  std::fflush(nullptr);
  // Not exit: libpmix's thread still runs, and its shutdown may never return.
  _exit(status);
}
