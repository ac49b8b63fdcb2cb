#include "control/job/options/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <set>

#include "control/base/most_tasks.h"
#include "control/base/option_given_twice.h"
#include "control/base/session_suffix.h"
#include "control/job/options/lam_options.h"
#include "control/job/options/own_arguments.h"

namespace openlapi {
namespace {

constexpr double kMaxTimeoutSeconds = 1e9;

constexpr const char* kFooter =
    "Nodes of a universe, as LAM's mpirun takes them: n0-3,7 or N (all), c0-7 or C (by processors), h (here), o (the\n"
    "origin). Without any the tasks go round the processors of all nodes that may be scheduled on.\n\n"
    "Tasks are numbered from 0. With --bind core, task i gets the i-th core of those that lapirun itself may use (all\n"
    "its hardware threads); with more tasks than cores each gets one hardware thread, going round the cores. With "
    "more\n"
    "tasks than hardware threads none is bound: tasks that share a processor must be free to move.\n\n"
    "Of LAM's mpirun, -ssi KEY VALUE sets LAM_MPI_SSI_KEY for the tasks; -s NODE copies nothing; -t, -ton and -toff\n"
    "trace nothing; -w, -O, -f, -ger, -nger, -sigs, -nsigs, -pty, -npty, -nx, -sa, -sf, -p, -c2c and -lamd have no "
    "effect.\n\n"
    "Standard input goes to task 0. When a task fails (a status other than 0, or a signal), the others get SIGTERM "
    "and\n"
    "2 seconds later SIGKILL.\n\n"
    "Exit status: that of the first task that failed, 128 + n when signal n killed it; 124 after --timeout; 127 when "
    "the\n"
    "program is not found or none is given, 126 when it cannot be run; 2 for a wrong option; 1 when lapirun fails.";

constexpr const char* kLamexecFooter =
    "Nodes, as LAM's lamexec takes them: n0-3,7 or N (all), c0-7 or C (by processors), h (here), o (the origin). "
    "Without\n"
    "any the programs go round the processors of all nodes that may be scheduled on.\n\n"
    "-ssi KEY VALUE sets LAM_MPI_SSI_KEY for the programs; -s NODE copies nothing; -w, -f, -pty and -npty have no "
    "effect.\n\n"
    "Standard input goes to the first program. One that fails ends no other.\n\n"
    "Exit status: that of the first program that failed, 128 + n when signal n killed it; 124 after --timeout; 127 "
    "when\n"
    "the program is not found or none is given, 126 when it cannot be run; 2 for a wrong option; 1 when lamexec fails.";

struct Parsed {
  JobOptions options;
  double timeout_seconds = 0;
  std::string binding{};
  std::vector<std::string> hosts{};  // lists of names
  bool version = false;
  bool universe = false;
  bool no_universe = false;
  bool no_wait = false;
  bool trusted_network = false;
  bool direct_heap = false;
};

// CLI11's own checks let "nan" through, and do not put in quotes what they refuse.
template <typename Number>
CLI::Validator within(Number least, Number most, const std::string& allowed) {
  return {[=](std::string& text) -> std::string {
            Number number{};
            if (CLI::detail::lexical_cast(text, number) && number >= least && number <= most) return {};
            return "the value is '" + text + "'; allowed: " + allowed;
          },
          ""};
}

CLI::Validator number_of_tasks() { return within(1U, kMostTasks, "1 to " + std::to_string(kMostTasks)); }

CLI::Validator either_of(const std::string& one, const std::string& other) {
  return {[=](std::string& text) -> std::string {
            return text == one || text == other ? "" : "the value is '" + text + "'; allowed: " + one + " or " + other;
          },
          ""};
}

CLI::Validator not_empty(const std::string& allowed) {
  return {[=](std::string& text) { return text.empty() ? "the value is empty; allowed: " + allowed : ""; }, ""};
}

// Of a job of tasks alone.
void declare_job(CLI::App& app, Parsed& parsed) {
  JobOptions& options = parsed.options;
  app.add_flag("--universe", parsed.universe, "Only over the universe that lamboot has booted");
  app.add_flag("--no-universe", parsed.no_universe, "Only on this machine, also when a universe is booted");
  app.add_flag("--jobs", options.list_jobs, "Print the jobs whose lapirun or tasks are here, and exit");
  app.add_option("--bind", parsed.binding, "Bind tasks to processors: core (default) or none")
      ->check(either_of("core", "none"))
      ->type_name("core|none");
  app.add_flag("--report-bindings", options.report_bindings, "Say on stderr where each task is bound");
  app.add_flag("--outlive-daemons", options.outlive_daemons,
               "Universe: tasks go on by themselves when their node is cut off from lapirun");
  app.add_flag("--trusted-network", parsed.trusted_network,
               "Nobody else sees the network: packets without tags (-x OPENLAPI_PACKET_AUTH=no)");
  app.add_flag("--direct-heap", parsed.direct_heap,
               "Neighbours reach the tasks' heap without messages (-x OPENLAPI_DIRECT_HEAP=yes)");
  app.add_flag("--standalone", options.standalone,
               "Tasks learn who they are from MP_CHILD and the like instead of PMIx: for 32-bit tasks");
}

void declare(CLI::App& app, Parsed& parsed) {
  JobOptions& options = parsed.options;
  app.set_help_flag("-h,--help", "Print this and exit");
  app.add_option("-n,--np", options.placement.tasks, "Number of tasks (also -np, -c); 1, or one for each place named")
      ->check(number_of_tasks())
      ->type_name("N");
  app.add_option("-N", options.placement.per_node,
                 "Tasks on each node; without a universe this machine is the only one")
      ->check(number_of_tasks())
      ->type_name("N");
  app.add_option("--host", parsed.hosts, "Nodes to use, by their names; without a universe localhost (also -host)")
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME...]");
  app.add_option("--sessionprefix", options.session_prefix, "As given to lamboot (also -sessionprefix)")
      ->type_name("FOLDER");
  app.add_option("--sessionsuffix", options.session_suffix, "As given to lamboot (also -sessionsuffix)")
      ->check(CLI::Validator([](std::string& text) { return suffix_mistake(text); }, ""))
      ->type_name("NAME");
  if (options.launcher == Launcher::kLapirun) declare_job(app, parsed);
  app.add_flag("--tag-output", options.tag_output, "Put [task] in front of each line of output");
  app.add_option("-x", options.variables, "Set variables for the tasks; NAME alone: lapirun's own value")
      ->type_name("NAME[=VALUE][,...]")
      ->allow_extra_args(false);
  app.add_option("--wd", options.working_directory, "Working directory of the tasks (also -wd)")
      ->check(not_empty("a folder"))
      ->type_name("DIR");
  app.add_flag("-D", options.in_program_folder, "Tasks run in the folder where the program lies");
  app.add_flag("--no-wait", parsed.no_wait, "Go to the background when the job is started (also -nw)");
  app.add_option("--timeout", parsed.timeout_seconds, "End the job after this many seconds")
      ->check(within(0.001, kMaxTimeoutSeconds, "0.001 to 1000000000"))
      ->type_name("SECONDS");
  app.add_flag("-v,--verbose", options.verbose, "Say on stderr what is done and how long it took");
  app.add_flag("--version", parsed.version, "Print the version and exit");
  app.footer(options.launcher == Launcher::kLamexec ? kLamexecFooter : kFooter);
}

// -ssi's parameters as variables; else why not. As in LAM the first counts of those that are named twice.
std::string take_parameters(const OwnArguments& own, JobOptions& options, std::vector<std::string>& variables) {
  std::set<std::string> seen;
  for (std::size_t at = 0; at < own.parameters.size(); at += 2) {
    const std::string& key = own.parameters[at];
    if (key.empty() || key.find('=') != std::string::npos) {
      return "-ssi: the key is '" + key + "'; allowed: a parameter's name, such as rpi";
    }
    if (seen.insert(key).second) {
      variables.push_back("LAM_MPI_SSI_" + key + "=" + own.parameters[at + 1]);
    } else {
      options.notices.push_back("-ssi " + key + " is there twice: the first counts");
    }
  }
  return {};
}

// What -x and -ssi say, one variable each. Names must be such that the tasks can read them; else why not.
std::string take_variables(const OwnArguments& own, const Parsed& parsed, JobOptions& options) {
  std::vector<std::string> variables;
  if (parsed.trusted_network) variables.push_back("OPENLAPI_PACKET_AUTH=no");
  if (parsed.direct_heap) variables.push_back("OPENLAPI_DIRECT_HEAP=yes");
  if (std::string wrong = take_parameters(own, options, variables); !wrong.empty()) return wrong;
  for (const std::string& given : options.variables) {
    Variables split =
        split_variables(given, [](const std::string& name) { return std::getenv(name.c_str()) != nullptr; });
    for (std::string& variable : split.all) {
      if (variable.empty() || variable[0] == '=') {
        return "-x '" + given + "': a variable has a name: NAME or NAME=VALUE";
      }
      variables.push_back(std::move(variable));
    }
    for (const std::string& name : split.exported) {
      options.notices.push_back("-x '" + given + "': " + name +
                                " is set here, and so is a variable of its own, no part of a value");
    }
  }
  options.variables = std::move(variables);
  return {};
}

// Users of poe say there how many tasks a job has. Here that is for tasks that are started by hand.
void look_at_procs(JobOptions& options) {
  const char* const procs = std::getenv("MP_PROCS");
  if (procs == nullptr || options.launcher == Launcher::kLamexec || options.list_jobs) return;
  const JobPlacement& placement = options.placement;
  if (placement.tasks != 0 || placement.per_node != 0 || placement.names_places()) return;
  options.notices.push_back("MP_PROCS=" + std::string(procs) +
                            " counts for tasks that are started by hand; here -n does");
}

// Where to run, as far as options contradict each other; else why not.
std::string take_places(const Parsed& parsed, const OwnArguments& own, JobOptions& options) {
  if (parsed.universe && parsed.no_universe) return "--universe and --no-universe: only one of them";
  if (options.launcher == Launcher::kLamexec) {
    options.universe = UseUniverse::kYes;
    options.binding = Binding::kNone;
  }
  if (parsed.universe || parsed.no_universe) options.universe = parsed.universe ? UseUniverse::kYes : UseUniverse::kNo;
  if (options.in_program_folder && !options.working_directory.empty()) return "-D and --wd: only one of them";
  if (parsed.binding == "none") options.binding = Binding::kNone;
  for (const std::string& list : parsed.hosts) {
    for (std::string& host : split_hosts(list)) {
      if (std::string wrong = host_mistake(host, list); !wrong.empty()) return wrong;
      options.placement.hosts.push_back(std::move(host));
    }
  }
  options.placement.words = own.node_words;
  look_at_procs(options);
  if (options.placement.tasks != 0) options.tasks = options.placement.tasks;
  options.wait = !parsed.no_wait;
  options.notices.insert(options.notices.end(), own.notices.begin(), own.notices.end());
  return {};
}

// CLI11 knows nothing of what follows the options.
std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  const std::string general = "Usage: " + app.get_name() + " [OPTIONS]";
  const std::size_t at = text.find(general);
  if (at != std::string::npos) text.insert(at + general.size(), " [nodes] [--] program [arguments]");
  return text;
}

// CLI11 begins with an option's last name; the user's is the one that was written.
std::string in_users_words(std::string reason, const OwnArguments& own) {
  const std::size_t end = reason.find(": ");
  const auto found = own.given_as.find(reason.substr(0, end));
  if (end != std::string::npos && found != own.given_as.end()) reason.replace(0, end, found->second);
  return told_once(reason);
}

// In LAM's way: lamexec, words for nodes, -ssi, -np and -c, where lapirun's own is -n.
bool is_of_lam(const OwnArguments& own, Launcher launcher) {
  return launcher == Launcher::kLamexec || !own.node_words.empty() || !own.parameters.empty() ||
         std::ranges::any_of(own.given_as,
                             [](const auto& given) { return given.second == "-np" || given.second == "-c"; });
}

// LAM's synopses: program [-- arguments]. The program may have meant it for itself, and lamexec is LAM's alone.
void take_out_lams_dashes(JobOptions& options) {
  std::vector<std::string>& command = options.command;
  if (command.size() < 2 || command[1] != "--") return;
  command.erase(command.begin() + 1);
  if (options.launcher == Launcher::kLamexec) return;
  options.notices.push_back(
      "-- behind '" + command[0] +
      "' is taken for LAM's, not for an argument; where it is one, -- goes before the program, too");
}

// The program and its arguments; else why they cannot be. `name`: the launcher's.
std::string take_command(const OwnArguments& own, const std::vector<std::string>& arguments, const std::string& name,
                         JobOptions& options) {
  const bool dashes = own.count < arguments.size() && arguments[own.count] == "--";
  const std::size_t program = dashes ? own.count + 1 : own.count;
  options.command.assign(arguments.begin() + static_cast<long>(program), arguments.end());
  if (options.list_jobs && !options.command.empty()) {
    return "--jobs: the command line has the program '" + options.command[0] + "'; allowed: options only";
  }
  if (is_file_of_hosts(arguments, program)) return answer_to_file_of_hosts(arguments[program], name);
  if (dashes) return {};
  if (std::ranges::find(options.command, ":") != options.command.end()) {
    return "':': a job has one program; let a shell choose: sh -c 'if [ $PMIX_RANK = 0 ]; then exec ./a; else exec "
           "./b; fi'. Where ':' is a word of the program's, -- goes before the program";
  }
  if (is_of_lam(own, options.launcher)) take_out_lams_dashes(options);
  return {};
}

CommandLineEnd refusal(const std::string& name, int status, const std::string& reason) {
  return {status, name + ": " + reason + "\nTry '" + name + " --help'.\n"};
}

}  // namespace

std::variant<JobOptions, CommandLineEnd> parse_command_line(const std::vector<std::string>& arguments,
                                                            const std::string& version, Launcher launcher) {
  Parsed parsed;
  parsed.options.launcher = launcher;
  const std::string name = program_name(launcher);
  CLI::App app(
      launcher == Launcher::kLapirun
          ? "Starts a job of LAPI tasks, over the universe that is booted here (lamboot), else on this machine."
          : "Runs a program on nodes of the universe that is booted here (lamboot), each by itself.",
      name);
  const auto usage_error = [&](const std::string& reason) { return refusal(name, kExitUsage, reason); };
  declare(app, parsed);
  const OwnArguments own = split_off_own(app, arguments);
  if (!own.missing.empty()) return usage_error(own.missing);
  if (!own.refusal.empty()) return usage_error(own.refusal);
  std::vector<std::string> options(own.options.rbegin(), own.options.rend());
  try {
    app.parse(options);
  } catch (const CLI::CallForHelp&) {
    return CommandLineEnd{0, help_text(app)};
  } catch (const CLI::ParseError& wrong) {
    return usage_error(in_users_words(wrong.what(), own));
  }
  if (parsed.version) return CommandLineEnd{0, name + " (openlapi) " + version + "\n"};
  for (const std::string& wrong :
       {take_variables(own, parsed, parsed.options), take_places(parsed, own, parsed.options)}) {
    if (!wrong.empty()) return usage_error(wrong);
  }
  if (parsed.timeout_seconds > 0)
    parsed.options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(parsed.timeout_seconds * 1000));
  if (const std::string wrong = take_command(own, arguments, name, parsed.options); !wrong.empty()) {
    return usage_error(wrong);
  }
  if (parsed.options.command.empty() && !parsed.options.list_jobs)
    return refusal(name, kExitNotFound, "no program given");
  return parsed.options;
}

}  // namespace openlapi
