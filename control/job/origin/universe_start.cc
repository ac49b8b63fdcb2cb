#include "control/job/origin/universe_start.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <stdexcept>

#include "control/base/file_text.h"
#include "control/daemon/session/session_folder.h"
#include "control/daemon/session/tool_client.h"
#include "control/job/messages/fence_tree.h"
#include "control/job/options/this_host.h"
#include "control/job/origin/job.h"
#include "control/job/origin/job_map.h"
#include "control/job/origin/universe_link.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kAnswerTime{60};  // a universe that is being booted is waited for

daemon::SessionName session_name(const JobOptions& options) { return {options.session_prefix, options.session_suffix}; }

// A place where no session can be is no mistake of whoever wants none. Another user's daemon must not be given the job.
bool is_booted(const JobOptions& options) {
  try {
    const std::string folder = daemon::session_path(session_name(options));
    return daemon::is_own_session(folder) && daemon::session_process(folder) != 0;
  } catch (const std::exception&) {
    return false;
  }
}

bool share_a_machine(const std::vector<JobNode>& map, const std::vector<daemon::UniverseNode>& nodes) {
  std::set<std::uint32_t> addresses;
  return !std::ranges::all_of(map,
                              [&](const JobNode& node) { return addresses.insert(nodes[node.node].address).second; });
}

std::string working_directory(const JobOptions& options) {
  return std::filesystem::absolute(options.working_directory.empty() ? "." : options.working_directory)
      .lexically_normal()
      .string();
}

// The words of a process as they were given; empty: it has ended.
std::string command_of(std::uint32_t process) {
  std::string text = file_text("/proc/" + std::to_string(process) + "/cmdline");
  if (!text.empty()) text.pop_back();
  std::ranges::replace_if(
      text, [](char letter) { return letter >= 0 && letter < ' '; }, ' ');
  return text;
}

// lapirun, or lamexec, which the daemon takes for the same. A process that has ended is one of lapirun's.
std::string launcher_of(std::uint32_t process) {
  std::string name;
  std::ifstream("/proc/" + std::to_string(process) + "/comm") >> name;
  return program_name(name == program_name(Launcher::kLamexec) ? Launcher::kLamexec : Launcher::kLapirun);
}

void print_job(const daemon::JobEntry& job, std::uint32_t here) {
  std::string nodes;
  for (const std::uint32_t node : job.nodes) nodes += (nodes.empty() ? "n" : ",n") + std::to_string(node);
  if (job.lapirun == 0) nodes = "n" + std::to_string(here);
  std::string line = std::to_string(job.home) + "." + std::to_string(job.number) + "\t" + nodes;
  if (job.lapirun != 0) line += "\t" + launcher_of(job.lapirun) + " " + std::to_string(job.lapirun);
  if (job.helper != 0) line += "\tlamtasks " + std::to_string(job.helper);
  if (job.lapirun != 0) line += "\t" + command_of(job.lapirun);
  std::puts(line.c_str());
}

daemon::UniverseMessage ask_universe(daemon::ToolClient& daemon, bool wait_until_linked) {
  daemon.check_alive();
  return daemon.ask_for<daemon::UniverseMessage>(daemon::UniverseRequest{static_cast<std::uint8_t>(wait_until_linked)},
                                                 kAnswerTime);
}

// Whether this host alone is named, so that no universe is needed.
bool names_only_this_host(const JobOptions& options) {
  return options.universe != UseUniverse::kYes && options.placement.words.empty() &&
         std::ranges::all_of(options.placement.hosts, is_this_host);
}

// The places that are named, as the user may have written them.
std::string named_places(const JobOptions& options) {
  const JobPlacement& placement = options.placement;
  if (options.universe == UseUniverse::kYes) return "--universe is";
  for (const std::string& host : placement.hosts) {
    if (!is_this_host(host)) return "the host '" + host + "' would be a node";
  }
  return "-N " + std::to_string(placement.per_node) + " is";
}

}  // namespace

int list_jobs(const JobOptions& options) {
  daemon::ToolClient daemon(daemon::session_path(session_name(options)));
  const std::uint32_t here = ask_universe(daemon, false).here;
  const auto jobs = daemon.ask_for<daemon::JobsMessage>(daemon::JobsRequest{}, kAnswerTime).jobs;
  for (const daemon::JobEntry& job : jobs) print_job(job, here);
  return std::fflush(stdout) == 0 ? 0 : kExitOwnFailure;
}

bool is_for_universe(const JobOptions& options) {
  const bool asked =
      options.universe == UseUniverse::kYes || options.placement.names_places() || options.placement.per_node != 0;
  if (options.universe == UseUniverse::kNo || options.standalone) {
    if (!asked || names_only_this_host(options)) return false;
    throw std::invalid_argument("-N, -host, words for nodes and --universe are for jobs over a universe: not with " +
                                std::string(options.standalone ? "--standalone" : "--no-universe"));
  }
  const bool booted = is_booted(options);
  if (options.launcher == Launcher::kLamexec && !booted) {
    throw std::runtime_error("no universe is booted here; lamboot boots one");
  }
  if (asked && !booted && !names_only_this_host(options)) {
    throw std::runtime_error("no universe is booted here (lamboot boots one), but " +
                             (options.placement.words.empty()
                                  ? named_places(options) + " of one"
                                  : "\"" + options.placement.words[0] +
                                        "\" chooses nodes of one; before a program of " + "this name goes --"));
  }
  return booted;
}

int run_in_universe(JobOptions options, const TaskEnvironment& environment) {
  daemon::ToolClient daemon(daemon::session_path(session_name(options)));
  const daemon::UniverseMessage universe = ask_universe(daemon, true);
  std::vector<JobNode> map = map_tasks(options.placement, universe.nodes, universe.here);
  link_nodes(map, universe.parents);
  // Binding would put the tasks of nodes that are one machine on the same cores.
  if (share_a_machine(map, universe.nodes)) options.binding = Binding::kNone;
  UniverseLink link(daemon::Connection(daemon.take_socket(), std::make_unique<daemon::MessageStream>()),
                    universe.nodes[universe.here].address);
  SignalSource signals;
  const std::string directory = working_directory(options);
  return Job(std::move(options), std::move(map), signals, link).run(environment, directory);
}

}  // namespace openlapi::jobs
