// Boot module "rsh": a remote shell, ssh unless the user names another, starts hboot on each host, which starts the
// daemons there. This host is started without it.
#include <cstdlib>
#include <string>
#include <vector>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/built_in_module.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/modules/rsh_command.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/local_processes.h"
#include "control/boot/processes/remote_programs.h"

namespace openlapi::boot {
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
