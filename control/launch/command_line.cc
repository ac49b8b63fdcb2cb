#include "control/launch/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>

namespace openlapi {
namespace {

constexpr std::uint32_t kMaxTasks = 65536;  // bounds what a slip of the finger can start
constexpr double kMaxTimeoutSeconds = 1e9;

constexpr const char* kFooter =
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
};

void declare(CLI::App& app, Parsed& parsed) {
  JobOptions& options = parsed.options;
  app.set_help_flag("-h,--help", "Print this and exit");
  app.add_option("-n,--np", options.tasks, "Number of tasks (also -np)")
      ->check(CLI::Range(1U, kMaxTasks))
      ->capture_default_str()
      ->type_name("N");
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
  app.add_flag("--standalone", options.standalone,
               "Tasks learn who they are from MP_CHILD and the like instead of PMIx: for 32-bit tasks");
  app.add_flag("-v,--verbose", options.verbose, "Say on stderr what is done and how long it took");
  app.add_flag("--version", parsed.version, "Print the version and exit");
  app.footer(kFooter);
}

// How many leading arguments are lapirun's own; "--" ends them as well. The old spelling -np becomes --np, but only
// where an option may stand: the program or one of its arguments may be called so.
std::size_t split_off_own(const CLI::App& app, std::vector<std::string>& arguments) {
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at].size() > 1 && arguments[at][0] == '-' && arguments[at] != "--") {
    if (arguments[at] == "-np") arguments[at] = "--np";
    const CLI::Option* option = app.get_option_no_throw(arguments[at]);
    const bool takes_value = option != nullptr && option->get_type_size() > 0 && option->get_expected_max() > 0;
    at += takes_value ? 2 : 1;
  }
  return std::min(at, arguments.size());
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
  if (at != std::string::npos) text.replace(at, general.size(), "Usage: lapirun [OPTIONS] [--] program [arguments]");
  return text;
}

CommandLineEnd usage_error(const std::string& reason) {
  return {kExitUsage, "lapirun: " + reason + "\nTry 'lapirun --help'.\n"};
}

}  // namespace

std::variant<JobOptions, CommandLineEnd> parse_command_line(const std::vector<std::string>& arguments,
                                                            const std::string& version) {
  Parsed parsed;
  CLI::App app("Starts a job of LAPI tasks on this machine.", "lapirun");
  declare(app, parsed);
  std::vector<std::string> words = arguments;
  const std::size_t own = split_off_own(app, words);
  std::vector<std::string> options(words.rbegin() + static_cast<long>(words.size() - own), words.rend());
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
  const std::size_t program = own < words.size() && words[own] == "--" ? own + 1 : own;
  parsed.options.command.assign(words.begin() + static_cast<long>(program), words.end());
  if (parsed.options.command.empty())
    return CommandLineEnd{kExitNotFound, "lapirun: no program given\nTry 'lapirun --help'.\n"};
  return parsed.options;
}

}  // namespace openlapi
