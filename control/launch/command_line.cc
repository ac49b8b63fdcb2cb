#include "control/launch/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <map>

namespace openlapi {
namespace {

constexpr std::uint32_t kMaxTasks = 65536;  // bounds what a slip of the finger can start
constexpr double kMaxTimeoutSeconds = 1e9;

constexpr const char* kFooter =
    "Nodes of a universe, as LAM's mpirun takes them: n0-3,7 or N (all), c0-7 or C (by processors), h (here), o (the\n"
    "origin). Without any the tasks go round the processors of all nodes that may be scheduled on.\n\n"
    "Tasks are numbered from 0. With --bind core, task i gets the i-th core of those that lapirun itself may use (all\n"
    "its hardware threads); with more tasks than cores each gets one hardware thread, going round the cores. With "
    "more\n"
    "tasks than hardware threads none is bound: tasks that share a processor must be free to move.\n\n"
    "Standard input goes to task 0. LAPI_USE_SHM=yes is set unless it has a value. When a task fails (a status other\n"
    "than 0, or a signal), the others get SIGTERM and 2 seconds later SIGKILL.\n\n"
    "Exit status: that of the first task that failed, 128 + n when signal n killed it; 124 after --timeout; 127 when "
    "the\n"
    "program is not found or none is given, 126 when it cannot be run; 2 for a wrong option; 1 when lapirun fails.";

struct Parsed {
  JobOptions options;
  double timeout_seconds = 0;
  bool version = false;
  bool universe = false;
  bool no_universe = false;
};

void declare(CLI::App& app, Parsed& parsed) {
  JobOptions& options = parsed.options;
  app.set_help_flag("-h,--help", "Print this and exit");
  app.add_option("-n,--np", options.placement.tasks, "Number of tasks (also -np); 1, or one for each place named")
      ->check(CLI::Range(1U, kMaxTasks))
      ->type_name("N");
  app.add_option("-N", options.placement.per_node, "Universe: tasks on each node")
      ->check(CLI::Range(1U, kMaxTasks))
      ->type_name("N");
  app.add_option("--host", options.placement.hosts, "Universe: hosts to use (also -host)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("NAME[,NAME...]");
  app.add_flag("--universe", parsed.universe, "Only over the universe that lamboot has booted");
  app.add_flag("--no-universe", parsed.no_universe, "Only on this machine, also when a universe is booted");
  app.add_flag("--jobs", options.list_jobs, "Print the jobs whose lapirun or tasks are here, and exit");
  app.add_option("--sessionprefix", options.session_prefix, "As given to lamboot (also -sessionprefix)")
      ->type_name("FOLDER");
  app.add_option("--sessionsuffix", options.session_suffix, "As given to lamboot (also -sessionsuffix)")
      ->type_name("NAME");
  static const std::map<std::string, Binding> kBindings{{"core", Binding::kCore}, {"none", Binding::kNone}};
  app.add_option("--bind", options.binding, "Bind tasks to processors: core (default) or none")
      ->transform(CLI::CheckedTransformer(kBindings).description("core|none"))
      ->type_name("");
  app.add_flag("--report-bindings", options.report_bindings, "Say on stderr where each task is bound");
  app.add_flag("--tag-output", options.tag_output, "Put [task] in front of each line of output");
  app.add_option("-x", options.variables, "Set a variable for the tasks; NAME alone: lapirun's own value")
      ->type_name("NAME[=VALUE]")
      ->allow_extra_args(false);
  app.add_option("--wd", options.working_directory, "Working directory of the tasks")->type_name("DIR");
  app.add_option("--timeout", parsed.timeout_seconds, "End the job after this many seconds")
      ->check(CLI::Range(0.001, kMaxTimeoutSeconds))
      ->type_name("SECONDS");
  app.add_flag("--outlive-daemons", options.outlive_daemons,
               "Universe: tasks go on by themselves when the daemon of their node is lost");
  app.add_flag("--standalone", options.standalone,
               "Tasks learn who they are from MP_CHILD and the like instead of PMIx: for 32-bit tasks");
  app.add_flag("-v,--verbose", options.verbose, "Say on stderr what is done and how long it took");
  app.add_flag("--version", parsed.version, "Print the version and exit");
  app.footer(kFooter);
}

// LAM's words for nodes: N, C, h, o, n0-3,7 and c0-7.
bool is_node_word(const std::string& word) {
  if (word == "N" || word == "C" || word == "h" || word == "o") return true;
  return word.size() > 1 && (word[0] == 'n' || word[0] == 'c') && std::isdigit(static_cast<unsigned char>(word[1])) &&
         word.find_first_not_of("0123456789,-", 1) == std::string::npos;
}

// Takes the leading arguments that are lapirun's own: options, and between them words for nodes. "--" ends them as
// well. LAM's long options with one dash get two, but only where an option may stand: the program may be called so.
struct OwnArguments {
  std::vector<std::string> options{};
  std::vector<std::string> node_words{};
  std::size_t count = 0;
};

OwnArguments split_off_own(const CLI::App& app, const std::vector<std::string>& arguments) {
  OwnArguments own;
  std::size_t& at = own.count;
  while (at < arguments.size()) {
    std::string word = arguments[at];
    if (is_node_word(word)) {
      own.node_words.push_back(word);
      ++at;
      continue;
    }
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    for (const char* name : {"-np", "-host", "-sessionprefix", "-sessionsuffix"})
      if (word == name) word = "-" + word;
    const CLI::Option* option = app.get_option_no_throw(word);
    const bool takes_value = option != nullptr && option->get_type_size() > 0 && option->get_expected_max() > 0;
    own.options.push_back(word);
    if (takes_value && at + 1 < arguments.size()) own.options.push_back(arguments[at + 1]);
    at += takes_value ? 2 : 1;
  }
  at = std::min(at, arguments.size());
  return own;
}

// Names in -x must be such that the tasks can read them.
std::string wrong_variable(const std::vector<std::string>& variables) {
  for (const std::string& variable : variables)
    if (variable.empty() || variable[0] == '=') return variable;
  return {};
}

// CLI11 knows nothing of what follows the options.
std::string help_text(const CLI::App& app) {
  std::string text = app.help();
  const std::string general = "Usage: lapirun [OPTIONS]";
  const std::size_t at = text.find(general);
  if (at != std::string::npos)
    text.replace(at, general.size(), "Usage: lapirun [OPTIONS] [nodes] [--] program [arguments]");
  return text;
}

CommandLineEnd usage_error(const std::string& reason) {
  return {kExitUsage, "lapirun: " + reason + "\nTry 'lapirun --help'.\n"};
}

}  // namespace

std::variant<JobOptions, CommandLineEnd> parse_command_line(const std::vector<std::string>& arguments,
                                                            const std::string& version) {
  Parsed parsed;
  CLI::App app("Starts a job of LAPI tasks, over the universe that is booted here (lamboot), else on this machine.",
               "lapirun");
  declare(app, parsed);
  const OwnArguments own = split_off_own(app, arguments);
  std::vector<std::string> options(own.options.rbegin(), own.options.rend());
  try {
    app.parse(options);
  } catch (const CLI::CallForHelp&) {
    return CommandLineEnd{0, help_text(app)};
  } catch (const CLI::ParseError& wrong) {
    return usage_error(wrong.what());
  }
  if (parsed.version) return CommandLineEnd{0, "lapirun (openlapi) " + version + "\n"};
  if (const auto& all = parsed.options.variables;
      !wrong_variable(all).empty() || std::count(all.begin(), all.end(), ""))
    return usage_error("-x '" + wrong_variable(all) + "': a variable has a name: NAME or NAME=VALUE");
  if (parsed.timeout_seconds > 0)
    parsed.options.timeout = std::chrono::milliseconds(static_cast<std::int64_t>(parsed.timeout_seconds * 1000));
  if (parsed.universe && parsed.no_universe) return usage_error("--universe and --no-universe: only one of them");
  if (parsed.universe || parsed.no_universe)
    parsed.options.universe = parsed.universe ? UseUniverse::kYes : UseUniverse::kNo;
  parsed.options.placement.words = own.node_words;
  if (parsed.options.placement.tasks != 0) parsed.options.tasks = parsed.options.placement.tasks;
  const std::size_t program = own.count < arguments.size() && arguments[own.count] == "--" ? own.count + 1 : own.count;
  parsed.options.command.assign(arguments.begin() + static_cast<long>(program), arguments.end());
  if (parsed.options.command.empty() && !parsed.options.list_jobs)
    return CommandLineEnd{kExitNotFound, "lapirun: no program given\nTry 'lapirun --help'.\n"};
  return parsed.options;
}

}  // namespace openlapi
