// lapi_ntbl: loads, reads and unloads the network tables of user space jobs that are started by hand.
#include <sys/random.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>

#include "control/daemon/session/tool_client.h"
#include "control/daemon/tables/table_file.h"
#include "control/daemon/universe/node_words.h"
#include "control/tools/tool_main.h"

namespace openlapi::daemon {
namespace {

constexpr char kUsage[] =
    "usage: lapi_ntbl COMMAND [options] ...\n"
    "  network tables: which windows of which adapters the tasks of a job have that is started by hand in user space\n"
    "  mode (MP_EUILIB=us). They are loaded into the lamd of each node; MP_PARTITION is the job key of a table\n"
    "  lapi_ntbl load FILE                loads the table that the file describes (-: standard input)\n"
    "  lapi_ntbl reserve [-key KEY] -adapter NAME[=DEVICE] [NODES...]\n"
    "                                     makes and loads one: a task and a free window for each node word\n"
    "  lapi_ntbl read [KEY]               prints the tables, one task a line\n"
    "  lapi_ntbl env KEY TASK             prints the environment of a task, for a shell: eval \"$(lapi_ntbl env 7 "
    "0)\"\n"
    "  lapi_ntbl unload KEY               frees the windows of a job none of whose tasks runs\n"
    "  load, reserve and read print: job key, task, node, MP_LAPI_NETWORK, the process that has the windows\n"
    "  nodes: n0-3,7 or N (all, the default): a task each; c0-3,7 or C: a task for each processor; h, o\n"
    "  -h, --help  this                   -sessionprefix FOLDER, -sessionsuffix NAME: as given to lamboot\n"
    "  exit status: 0 done, 1 failed, 2 wrong usage\n";

constexpr std::chrono::seconds kAnswerTime{30};

struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Tasks = std::map<std::pair<std::string, std::uint32_t>, std::vector<WindowState>>;

Tasks tasks_of(const std::vector<WindowState>& windows) {
  Tasks tasks;
  for (const WindowState& window : windows) tasks[{window.key, window.window.task}].push_back(window);
  return tasks;
}

std::vector<WindowState> ask_tables(ToolClient& daemon, const DaemonMessage& question) {
  auto answer = daemon.ask_for<TablesMessage>(question, kAnswerTime);
  if (!answer.failure.empty()) throw std::runtime_error(answer.failure);
  return std::move(answer.windows);
}

std::vector<WindowState> ask_for_key(ToolClient& daemon, const DaemonMessage& question, const std::string& key) {
  std::vector<WindowState> windows = ask_tables(daemon, question);
  if (windows.empty()) throw std::runtime_error("no network table of MP_PARTITION='" + key + "' is loaded");
  return windows;
}

int print_tasks(const std::vector<WindowState>& windows) {
  for (const auto& [task, its_windows] : tasks_of(windows)) {
    const WindowState& first = its_windows.front();
    const std::string process = first.process == 0 ? "-" : std::to_string(first.process);
    std::printf("%s\t%u\tn%u\t%s\t%s\n", first.key.c_str(), first.window.task, first.window.node,
                network_statement(its_windows).c_str(), process.c_str());
  }
  return std::fflush(stdout) == 0 ? 0 : kExitFailure;
}

int load_table(ToolClient& daemon, NetworkTable table) {
  if (!ask_tables(daemon, TablesRequest{table.key}).empty()) {
    throw std::runtime_error("the network table of MP_PARTITION='" + table.key +
                             "' is loaded already; lapi_ntbl unload takes it away");
  }
  return print_tasks(ask_tables(daemon, LoadRequest{std::move(table)}));
}

std::string read_file(const std::string& name) {
  std::ostringstream text;
  if (name == "-") {
    text << std::ifstream("/dev/stdin").rdbuf();
    return text.str();
  }
  std::ifstream file(name);
  if (!file || file.peek() == std::ifstream::traits_type::eof()) {
    throw std::runtime_error(name + ": " + (file.is_open() ? "nothing is in it" : std::strerror(errno)));
  }
  text << file.rdbuf();
  return text.str();
}

int load(ToolClient& daemon, const std::vector<std::string>& words) {
  if (words.size() != 1) throw UsageError("load needs one file");
  NetworkTable table;
  try {
    table = parse_table(read_file(words[0]));
  } catch (const std::invalid_argument& wrong) {
    throw std::runtime_error(words[0] + ": " + wrong.what());
  }
  return load_table(daemon, std::move(table));
}

std::string random_key() {
  std::uint32_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) throw std::runtime_error("no random numbers");
  return std::to_string(number);
}

// A task for each node that is named, or for each processor where the word is about processors.
NetworkTable reserved_table(const BootOptions& options, const UniverseMessage& universe,
                            const std::vector<std::string>& words) {
  const std::string adapter = options.value("adapter");
  if (adapter.empty()) throw UsageError("reserve needs -adapter NAME[=DEVICE]");
  const auto equals = adapter.find('=');
  NetworkTable table{options.value("key").empty() ? random_key() : options.value("key"), 0, 0, {}};
  for (const std::string& word : words) {
    const bool by_processor = word.starts_with('c') || word.starts_with('C');
    for (const NodeChoice& choice : choose_nodes({word}, universe.nodes, universe.here)) {
      for (std::uint32_t task = 0; task < (by_processor ? choice.cpus : 1); ++task) {
        table.windows.push_back({table.tasks++, choice.node, kAnyWindow, adapter.substr(0, equals),
                                 equals == std::string::npos ? "" : adapter.substr(equals + 1)});
      }
    }
  }
  return table;
}

int reserve(ToolClient& daemon, const BootOptions& options, std::vector<std::string> words) {
  if (words.empty()) words = {"N"};
  NetworkTable table = reserved_table(options, daemon.ask_for<UniverseMessage>(UniverseRequest{1}, kAnswerTime), words);
  const std::string mistake = mistake_in(table);
  if (!mistake.empty()) throw std::runtime_error(mistake);
  return load_table(daemon, std::move(table));
}

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char letter : text) result += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return result + "'";
}

// Of one node with several tasks: who they are, too.
std::string common_tasks(const Tasks& tasks, const WindowState& self) {
  std::string others;
  std::size_t count = 0;
  for (const auto& [task, windows] : tasks) {
    if (windows.front().window.node != self.window.node || task.second == self.window.task) continue;
    others += ":" + std::to_string(task.second);
    ++count;
  }
  return std::to_string(count) + others;
}

int print_environment(ToolClient& daemon, const std::vector<std::string>& words) {
  if (words.size() != 2) throw UsageError("env needs a job key and a task");
  const Tasks tasks = tasks_of(ask_for_key(daemon, TablesRequest{words[0]}, words[0]));
  for (const auto& [task, windows] : tasks) {
    if (std::to_string(task.second) != words[1]) continue;
    const WindowState& first = windows.front();
    std::printf(
        "export MP_MSG_API=lapi MP_EUILIB=us MP_CHILD=%u MP_PROCS=%u MP_PARTITION=%s MP_COMMON_TASKS=%s"
        " MP_LAPI_NETWORK=%s\n",
        task.second, first.tasks, quoted(first.key).c_str(), common_tasks(tasks, first).c_str(),
        quoted(network_statement(windows)).c_str());
    return std::fflush(stdout) == 0 ? 0 : kExitFailure;
  }
  throw std::runtime_error("MP_PARTITION='" + words[0] + "' has no task '" + words[1] + "': allowed are 0 to " +
                           std::to_string(tasks.begin()->second.front().tasks - 1));
}

int unload(ToolClient& daemon, const std::vector<std::string>& words) {
  if (words.size() != 1) throw UsageError("unload needs one job key");
  ask_for_key(daemon, UnloadRequest{words[0]}, words[0]);
  return 0;
}

int read(ToolClient& daemon, const std::vector<std::string>& words) {
  if (words.size() > 1) throw UsageError("read takes one job key, or none");
  if (words.empty()) return print_tasks(ask_tables(daemon, TablesRequest{}));
  return print_tasks(ask_for_key(daemon, TablesRequest{words[0]}, words[0]));
}

int run(const std::string& command, BootOptions& options) {
  const std::vector<std::string> words = options.plain_words();
  const bool known =
      command == "load" || command == "reserve" || command == "read" || command == "env" || command == "unload";
  if (!known) throw UsageError("'" + command + "' is no command: allowed are load, reserve, read, env and unload");
  if (command != "reserve" && (options.has("key") || options.has("adapter"))) {
    throw UsageError("-key and -adapter are for reserve");
  }
  ToolClient daemon(session_path(options.session_name()));
  daemon.check_alive();
  if (command == "load") return load(daemon, words);
  if (command == "reserve") return reserve(daemon, options, words);
  if (command == "read") return read(daemon, words);
  if (command == "env") return print_environment(daemon, words);
  return unload(daemon, words);
}

}  // namespace
}  // namespace openlapi::daemon

// The command stands before the options, where those of other tools have their name.
int main(int count, char** words) {
  using namespace openlapi::daemon;
  const std::string command = count > 1 && words[1][0] != '-' ? words[1] : "";
  const int skipped = command.empty() ? 0 : 1;
  BootOptions options;
  options.add_flags("h");
  options.add_values({"key", "adapter"});
  options.add_common();
  return tool_main("lapi_ntbl", kUsage, options, count - skipped, words + skipped, [&](BootOptions& parsed) {
    try {
      return run(command, parsed);
    } catch (const UsageError& wrong) {
      std::fprintf(stderr, "lapi_ntbl: %s; lapi_ntbl -h has all\n", wrong.what());
      return kExitUsage;
    }
  });
}
