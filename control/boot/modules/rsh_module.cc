// Boot module "rsh": a remote shell, ssh unless the user names another, starts hboot on each host, which starts the
// daemons there. This host is started without it.
#include "control/boot/modules/rsh_module.h"

#include <cstdlib>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/built_in_module.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/local_processes.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/schemas/schema_words.h"

namespace openlapi::boot {
namespace {

// Nobody is there to answer a question when many hosts are booted at once.
constexpr const char* kDefaultAgent = "ssh -x -o BatchMode=yes -o ConnectTimeout=10";
constexpr int kAgentFailed = 255;  // of ssh
constexpr int kNotExecutable = 126, kNotFound = 127;
constexpr char kWhereToFind[] =
    "; the host's line of the boot schema needs prefix=FOLDER, where FOLDER/bin has hboot and tkill, or the PATH that "
    "its shells have without a login needs that bin";

const char* setting(const char* name) { return std::getenv((std::string("LAM_MPI_SSI_boot_rsh_") + name).c_str()); }

bool flag(const char* name) {
  const char* value = setting(name);
  const std::string_view text = value == nullptr ? "0" : value;
  if (text == "0" || text == "1") return text == "1";
  throw BootError(std::string("LAM_MPI_SSI_boot_rsh_") + name + " is " + shown(text) + "; allowed: 0, 1");
}

std::vector<std::string> agent_of_environment() {
  const char* variable = "LAM_MPI_SSI_boot_rsh_agent";
  const char* value = std::getenv(variable);
  if (value == nullptr) value = std::getenv(variable = "LAMRSH");
  if (value == nullptr) value = kDefaultAgent;
  std::vector<std::string> words;
  for (const SchemaWord& word : split_schema_line(value, {variable, 1})) words.push_back(word.text);
  if (words.empty()) throw BootError(std::string(variable) + " is empty; allowed: a program and its arguments");
  return words;
}

// Of ssh's own messages.
std::string why_no_connection(std::string_view errors) {
  const auto says = [&](std::string_view text) { return errors.find(text) != std::string_view::npos; };
  if (says("Could not resolve")) return "its name has no address";
  if (says("Connection refused")) return "refuses connections";
  if (says("No route to host") || says("timed out") || says("Network is unreachable")) return "cannot be reached";
  if (says("Host key verification failed") || says("host key is known")) return "its host key is not the known one";
  if (says("Permission denied")) return "does not let this user log in";
  return "the agent failed";
}

}  // namespace

RshSettings read_rsh_settings() {
  RshSettings settings;
  settings.agent = agent_of_environment();
  const char* username = setting("username");
  settings.username = username == nullptr ? "" : username;
  if (settings.username.starts_with("-")) {
    throw BootError("LAM_MPI_SSI_boot_rsh_username is " + shown(settings.username) +
                    "; allowed: a name that does not begin with -");
  }
  settings.no_n = flag("no_n");
  settings.no_profile = flag("no_profile");
  settings.fast = flag("fast");
  settings.ignore_stderr = flag("ignore_stderr");
  settings.time = agent_time("LAM_MPI_SSI_boot_rsh_time");
  return settings;
}

std::string quoted_for_shell(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char letter : word) {
    if (letter == '\n' || letter == '\0') {
      throw BootError("a word for another host is " + shown(word) + "; allowed: no line breaks");
    }
    // csh has its history also between quotes.
    if (letter == '\'' || letter == '!') {
      quoted += std::string("'\\") + letter + "'";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string remote_command(const std::vector<std::string>& words, std::string_view shell, bool no_profile) {
  std::string command;
  for (const std::string& word : words) command += (command.empty() ? "" : " ") + quoted_for_shell(word);
  const bool reads_a_file = shell.empty() || shell.find("csh") != std::string_view::npos || shell.ends_with("bash");
  if (no_profile || reads_a_file) return command;
  // The key on standard input is not for .profile.
  return "( ! [ -e ./.profile ] || . ./.profile </dev/null; " + command + " )";
}

std::vector<std::string> agent_words(const RshSettings& settings, const lamnode& node, const std::string& command,
                                     AgentInput input) {
  std::vector<std::string> words = settings.agent;
  const std::string user = node.lnd_uname != nullptr ? node.lnd_uname : settings.username;
  words.push_back(node.lnd_hname);
  if (!user.empty()) words.insert(words.end(), {"-l", user});
  if (input == AgentInput::kNothing && !settings.no_n) words.push_back("-n");
  words.push_back(command);
  return words;
}

std::string agent_failure(const AgentResult& result, const RshSettings& settings) {
  const std::string said = in_one_line(result.errors.empty() ? result.output : result.errors);
  const std::string behind = said.empty() ? "" : ": " + said;
  if (result.too_slow) return "was given up after " + std::to_string(settings.time.count()) + " s" + behind;
  if (result.status == kAgentFailed) return why_no_connection(result.errors) + behind;
  if (result.status == kNotFound) return "the command was not found there" + behind + kWhereToFind;
  if (result.status == kNotExecutable) return "the command cannot be executed there" + behind;
  if (result.status != 0) return "the command ended with status " + std::to_string(result.status) + behind;
  if (!result.errors.empty() && !settings.ignore_stderr) {
    return "the command, or a file that the shell there reads, wrote to standard error (allowed with "
           "LAM_MPI_SSI_boot_rsh_ignore_stderr=1)" +
           behind;
  }
  return "";
}

namespace rsh {
namespace {

class Module {
 public:
  static constexpr const char* kName = "rsh";
  static constexpr int kPriority = 10;
  static constexpr auto kStartProcesses = boot_threaded_unless_asked;

  static bool is_available() { return true; }
  int parse_options(OPT* args, int bhost_schema_args) { return hosts_.parse_options(args, bhost_schema_args); }
  int allocate_nodes(lamnode** nodes, int* nnodes, int* origin);
  int verify_nodes(lamnode* nodes, int nnodes);
  int prepare_boot();
  int start_application(char*** argv, int* argc, int num_procs, lamnode* node) const;
  int start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) const;

 private:
  // Throw BootError that names the host and the command.
  std::string run_there(const lamnode& node, const std::string& command, AgentInput input) const;
  void run_words(const lamnode& node, const std::vector<std::string>& words, AgentInput input) const;
  std::string shell_of(const lamnode& node) const;

  SchemaNodes hosts_{};
  OriginNode origin_{};
  RshSettings settings_{};
};

int Module::allocate_nodes(lamnode** nodes, int* nnodes, int* origin) {
  // Which of a schema's nodes is here, verify_nodes finds out.
  if (!hosts_.grows()) *origin = 0;
  return hosts_.allocate(nodes, nnodes, origin);
}

int Module::verify_nodes(lamnode* nodes, int nnodes) {
  int here = 0;
  if (lam_ssi_boot_base_verify_nodes(nodes, nnodes, &here) != 0) return LAMERROR;
  origin_ = {nodes[here], here};
  return 0;
}

int Module::prepare_boot() {
  return catch_errors(LAMERROR, [&] {
    settings_ = read_rsh_settings();
    return 0;
  });
}

std::string Module::run_there(const lamnode& node, const std::string& command, AgentInput input) const {
  const std::vector<std::string> words = agent_words(settings_, node, command, input);
  if (lam_ssi_boot_verbose > 0) lam_debug(lam_ssi_boot_did, "rsh: %s", glued(words).c_str());
  const AgentResult result = run_agent(words, input, settings_.time);
  const std::string failure = agent_failure(result, settings_);
  if (!failure.empty()) throw BootError("node " + name_of(node) + ": " + failure + " (" + glued(words) + ")");
  return result.output;
}

// The user's login shell there.
std::string Module::shell_of(const lamnode& node) const {
  if (settings_.no_profile) return "";
  if (settings_.fast) {
    const char* shell = std::getenv("SHELL");
    return shell == nullptr ? "" : shell;
  }
  std::string output = run_there(node, "echo $SHELL", AgentInput::kNothing);
  return output.substr(0, output.find_last_not_of("\r\n ") + 1);
}

void Module::run_words(const lamnode& node, const std::vector<std::string>& words, AgentInput input) const {
  run_there(node, remote_command(words, shell_of(node), settings_.no_profile), input);
}

int Module::start_application(char*** argv, int* argc, int num_procs, lamnode* node) const {
  if ((node->lnd_type & NT_ME) != 0) return start_application_here(argv, argc, num_procs, node);
  int started = 0;
  catch_errors(LAMERROR, [&] {
    for (; started < num_procs; ++started) {
      if (argc[started] < 1) throw BootError("a command without words for node " + name_of(*node));
      std::vector<std::string> words(argv[started], argv[started] + argc[started]);
      words[0] = program_path(*node, words[0]);
      run_words(*node, words, AgentInput::kKey);
    }
    return 0;
  });
  return started;
}

int Module::start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) const {
  if ((node->lnd_type & NT_ME) != 0) return start_here(node, which, origin_);
  return catch_errors(LAMERROR, [&] {
    const bool daemon = which == LAM_SSI_BOOT_PROC_LAMD;
    run_words(*node, daemon ? hboot_words(*node, origin_) : tkill_words(*node, which == LAM_SSI_BOOT_PROC_RECON),
              daemon ? AgentInput::kKey : AgentInput::kNothing);
    return 0;
  });
}

}  // namespace
}  // namespace rsh

constinit const lam_ssi_boot_1_1_0_t rsh_module = BuiltInModule<rsh::Module>::make();

}  // namespace openlapi::boot
