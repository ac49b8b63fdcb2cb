#include "control/jobs/universe_start.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>

#include "control/daemon/session_folder.h"
#include "control/daemon/tool_client.h"
#include "control/jobs/job_map.h"
#include "control/jobs/universe_job.h"

namespace openlapi::jobs {
namespace {

constexpr std::chrono::seconds kAnswerTime{60};  // a universe that is being booted is waited for

daemon::SessionName session_name(const JobOptions& options) { return {options.session_prefix, options.session_suffix}; }

// A place where no session can be is no mistake of who wants none.
bool is_booted(const JobOptions& options) {
  try {
    return daemon::session_process(daemon::session_path(session_name(options))) != 0;
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

}  // namespace

bool is_for_universe(const JobOptions& options) {
  const bool asked =
      options.universe == UseUniverse::kYes || options.placement.names_places() || options.placement.per_node != 0;
  if (options.universe == UseUniverse::kNo || options.standalone) {
    if (!asked) return false;
    throw std::invalid_argument("-N, -host, words for nodes and --universe are for jobs over a universe: not with " +
                                std::string(options.standalone ? "--standalone" : "--no-universe"));
  }
  const bool booted = is_booted(options);
  if (asked && !booted) {
    throw std::runtime_error("no universe is booted here (lamboot boots one), but " +
                             (options.placement.words.empty()
                                  ? std::string("-N, -host and --universe are for one")
                                  : "\"" + options.placement.words[0] +
                                        "\" chooses nodes of one; before a program of " + "this name goes --"));
  }
  return booted;
}

int run_in_universe(const JobOptions& options, const TaskEnvironment& environment) {
  daemon::ToolClient daemon(daemon::session_path(session_name(options)));
  const daemon::DaemonMessage answer = daemon.ask(daemon::UniverseRequest{1}, kAnswerTime);
  const auto* universe = std::get_if<daemon::UniverseMessage>(&answer);
  if (universe == nullptr) throw std::runtime_error("lamd's answer makes no sense");
  std::vector<JobNode> map = map_tasks(options.placement, universe->nodes, universe->here);
  const bool shared = share_a_machine(map, universe->nodes);
  UniverseJob job(options, std::move(map), shared,
                  daemon::Connection(daemon.take_socket(), std::make_unique<daemon::MessageStream>()));
  return job.run(environment, working_directory(options));
}

}  // namespace openlapi::jobs
