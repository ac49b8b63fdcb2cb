// Boot module "rsh": a remote shell, ssh unless the user names another, starts hboot on each host, which starts the
// daemons there. This host is started without it.
#include <cstdlib>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/processes/local_processes.h"
#include "control/boot/modules/module_algorithms.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/modules/rsh_command.h"

namespace openlapi::boot {
namespace rsh {
namespace {

constexpr int kPriority = 10;

SchemaNodes hosts;
OriginNode origin_node;
RshSettings settings;

int parse_options(OPT* args, int bhost_schema_args) { return hosts.parse_options(args, bhost_schema_args); }

int allocate_nodes(lamnode** nodes, int* nnodes, int* origin) {
  // Which of a schema's nodes is here, verify_nodes finds out.
  if (!hosts.grows()) *origin = 0;
  return hosts.allocate(nodes, nnodes, origin);
}

int verify_nodes(lamnode* nodes, int nnodes) {
  int here = 0;
  if (lam_ssi_boot_base_verify_nodes(nodes, nnodes, &here) != 0) return LAMERROR;
  origin_node = {nodes[here], here};
  return 0;
}

int prepare_boot() {
  return guarded(LAMERROR, [] {
    settings = read_rsh_settings();
    return 0;
  });
}

int start_rte_procs(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return boot_as_asked(lam_ssi_boot_base_alg_thread, nodes, nnodes, which, num_started);
}

int deallocate_nodes(lamnode** nodes, int* nnodes) { return lam_deallocate_nodes(nodes, nnodes); }

// Throws BootError that names the host and the command.
std::string run_there(const lamnode& node, const std::string& command, AgentInput input) {
  const std::vector<std::string> words = agent_words(settings, node, command, input);
  if (lam_ssi_boot_verbose > 0) lam_debug(lam_ssi_boot_did, "rsh: %s", glued(words).c_str());
  const AgentResult result = run_agent(words, input, settings.time);
  const std::string failure = agent_failure(result, settings);
  if (!failure.empty()) throw BootError("node " + name_of(node) + ": " + failure + " (" + glued(words) + ")");
  return result.output;
}

// The user's login shell there.
std::string shell_of(const lamnode& node) {
  if (settings.no_profile) return "";
  if (settings.fast) {
    const char* shell = std::getenv("SHELL");
    return shell == nullptr ? "" : shell;
  }
  std::string output = run_there(node, "echo $SHELL", AgentInput::kNothing);
  return output.substr(0, output.find_last_not_of("\r\n ") + 1);
}

void run_words(const lamnode& node, const std::vector<std::string>& words, AgentInput input) {
  run_there(node, remote_command(words, shell_of(node), settings.no_profile), input);
}

int start_application(char*** argv, int* argc, int num_procs, lamnode* node) {
  if ((node->lnd_type & NT_ME) != 0) return start_application_here(argv, argc, num_procs, node);
  int started = 0;
  guarded(LAMERROR, [&] {
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

int start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) {
  if ((node->lnd_type & NT_ME) != 0) return start_here(node, which, origin_node);
  return guarded(LAMERROR, [&] {
    const bool daemon = which == LAM_SSI_BOOT_PROC_LAMD;
    run_words(*node, daemon ? hboot_words(*node, origin_node) : tkill_words(*node, which == LAM_SSI_BOOT_PROC_RECON),
              daemon ? AgentInput::kKey : AgentInput::kNothing);
    return 0;
  });
}

int finalize() {
  hosts.forget();
  return 0;
}

const lam_ssi_boot_actions_1_1_0_t* init(lam_ssi_boot_location_t, int* priority) {
  static const lam_ssi_boot_actions_1_1_0_t actions = {
      parse_options,
      allocate_nodes,
      verify_nodes,
      prepare_boot,
      start_rte_procs,
      deallocate_nodes,
      start_application,
      start_rte_proc,
      lam_ssi_boot_base_get_nodeid,
      lam_ssi_boot_base_open_srv_connection,
      lam_ssi_boot_base_send_lamd_info,
      lam_ssi_boot_base_receive_lamd_info,
      lam_ssi_boot_base_close_srv_connection,
      lam_ssi_boot_base_send_universe_info,
      lam_ssi_boot_base_receive_universe_info,
  };
  return lam_ssi_boot_base_check_priority("rsh", kPriority, 0, priority) == 0 ? &actions : nullptr;
}

}  // namespace
}  // namespace rsh

const lam_ssi_boot_1_1_0_t rsh_module = {
    {1, 0, 0, "boot", 1, 1, 0, "rsh", 1, 0, 0, nullptr, nullptr}, rsh::init, rsh::finalize};

}  // namespace openlapi::boot
