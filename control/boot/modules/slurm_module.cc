// Boot module "slurm": the nodes are those of an allocation of Slurm's, and srun starts what is to run on them, beside
// the job's tasks. Only on a machine that is not of the allocation, where salloc may put us, it is started without it.
//
// When the command of a step ends, Slurm ends everything that it left behind. So hboot stays as long as the daemons of
// its node, and with it its srun, which is let go once the daemons are started.

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "control/base/host_name.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/built_in_module.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/modules/slurm_allocation.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/agent_process.h"
#include "control/boot/processes/local_processes.h"
#include "control/boot/processes/munge_credential.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/schemas/schema_path.h"
#include "control/boot/schemas/schema_words.h"

namespace openlapi::boot {
namespace slurm {
namespace {

class Module {
 public:
  static constexpr const char* kName = "slurm";
  static constexpr int kPriority = 50;
  static constexpr auto kStartProcesses = boot_threaded_unless_asked;

  static bool is_available();
  int parse_options(OPT* args, int bhost_schema_args);
  int allocate_nodes(lamnode** nodes, int* nnodes, int* origin);
  int verify_nodes(lamnode* nodes, int nnodes);
  int prepare_boot();
  // No start_application, so no helpers: Slurm would end the steps that a helper started when it ends.
  int start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) const;

 private:
  void add_login_node(std::vector<HostEntry>& hosts);
  void run_there(const lamnode& node, const std::vector<std::string>& command, AgentInput input,
                 std::string_view sign) const;

  SchemaNodes new_host_{};
  bool grows_ = false;
  bool is_login_node_ = false;  // this machine is not of the allocation
  OriginNode origin_{};
  std::chrono::seconds start_time_ = kAgentTime;
  AgentInput key_input_ = AgentInput::kKey;
};

bool Module::is_available() {
  const std::string why_not = why_no_slurm_allocation();
  if (why_not.empty()) return true;
  const char* named = std::getenv("LAM_MPI_SSI_boot");
  if (named != nullptr && std::string(named) == "slurm") {
    print_error("boot module slurm: " + why_not + "; allowed: inside an allocation (salloc, sbatch)");
  }
  return false;
}

int Module::parse_options(OPT* args, int bhost_schema_args) {
  grows_ = bhost_schema_args != 1;
  if (grows_) return new_host_.parse_options(args, bhost_schema_args);
  return catch_errors(LAMERROR, [&] {
    const std::vector<std::string> words = plain_words(args);
    if (words.empty()) return 0;
    throw BootError("the command line names the boot schema " + shown(words.front()) +
                    ", and boot module slurm has its nodes from the allocation; allowed: no boot schema, or another "
                    "module, for example LAM_MPI_SSI_boot=rsh");
  });
}

// This machine is added when it is not of the allocation, as a login node is: the universe is run from here, but no
// tasks.
void Module::add_login_node(std::vector<HostEntry>& hosts) {
  NodeArray nodes(hosts);
  int bad = 0;
  if (lamnet_findhosts(&nodes[0], nodes.count(), &bad) != 0) {
    throw BootError("a node of the allocation has no address");
  }
  is_login_node_ = lamnet_findorig(&nodes[0], nodes.count()) < 0;
  if (!is_login_node_) return;
  hosts.push_back({.name = host_name(), .schedule = false});
}

int Module::allocate_nodes(lamnode** nodes, int* nnodes, int* origin) {
  if (grows_) return new_host_.allocate(nodes, nnodes, origin);
  return catch_errors(LAMERROR, [&] {
    std::vector<HostEntry> hosts = slurm_hosts();
    add_login_node(hosts);
    *nodes = NodeArray(hosts).release(nnodes);
    *origin = 0;  // verify_nodes finds out
    return 0;
  });
}

// Of a universe that grows, only the new node is to be of the allocation.
void check_new_nodes(const lamnode* nodes, int count) {
  const std::vector<HostEntry> hosts = slurm_hosts();
  for (int n = 0; n < count; ++n) {
    if (!is_to_be_booted(nodes[n])) continue;
    bool is_there = false;
    std::string names;
    for (const HostEntry& host : hosts) {
      is_there = is_there || host.name == nodes[n].lnd_hname;
      names += (names.empty() ? "" : ", ") + host.name;
    }
    if (!is_there) throw BootError("node " + name_of(nodes[n]) + " is not of this allocation; allowed: " + names);
  }
}

int Module::verify_nodes(lamnode* nodes, int nnodes) {
  return catch_errors(LAMERROR, [&] {
    if (grows_) check_new_nodes(nodes, nnodes);
    int here = 0;
    if (lam_ssi_boot_base_verify_nodes(nodes, nnodes, &here) != 0) return LAMERROR;
    origin_ = {nodes[here], here};
    return 0;
  });
}

// srun hands standard input on in clear. Where Slurm knows users by MUNGE, munge is on every host.
AgentInput find_key_input() {
  const char* const asked = std::getenv("LAM_MPI_SSI_boot_slurm_munge");
  const std::string wanted = asked != nullptr ? asked : "";
  if (wanted == "0") return AgentInput::kKey;
  if (!wanted.empty() && wanted != "1") {
    throw BootError("LAM_MPI_SSI_boot_slurm_munge is " + shown(wanted) + "; allowed: 0, 1");
  }
  try {
    seal_by_munge("");
    return AgentInput::kSealedKey;
  } catch (const BootError& error) {
    if (wanted == "1") throw;
    if (lam_ssi_boot_verbose >= 0)
      lam_debug(lam_ssi_boot_did, "slurm: the key goes to srun as it is: %s", error.what());
    return AgentInput::kKey;
  }
}

int Module::prepare_boot() {
  return catch_errors(LAMERROR, [&] {
    start_time_ = agent_time("LAM_MPI_SSI_boot_slurm_time");
    key_input_ = find_key_input();
    return 0;
  });
}

// `sign`: of the command, which then goes on; empty: it is to end. Throws BootError that names the host and the
// command.
void Module::run_there(const lamnode& node, const std::vector<std::string>& command, AgentInput input,
                       std::string_view sign) const {
  std::vector<std::string> words = srun_words(node.lnd_hname);
  if (input == AgentInput::kNothing) words.push_back("--input=none");
  words.insert(words.end(), command.begin(), command.end());
  if (lam_ssi_boot_verbose > 0) lam_debug(lam_ssi_boot_did, "slurm: %s", glued(words).c_str());
  const AgentResult result =
      sign.empty() ? run_agent(words, input, start_time_) : run_agent_until(words, input, sign, start_time_);
  if (result.goes_on || (sign.empty() && result.status == 0 && !result.too_slow)) return;
  const std::string said = in_one_line(result.errors.empty() ? result.output : result.errors);
  throw BootError("node " + name_of(node) + ": srun " +
                  (result.too_slow ? "was given up after " + std::to_string(start_time_.count()) + " s"
                                   : "ended with status " + std::to_string(result.status)) +
                  (said.empty() ? "" : ": " + said) + " (" + glued(words) + ")");
}

int Module::start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) const {
  if ((node->lnd_type & NT_ME) != 0 && is_login_node_) return start_here(node, which, origin_);
  return catch_errors(LAMERROR, [&] {
    if (which == LAM_SSI_BOOT_PROC_LAMD) {
      std::vector<std::string> words = hboot_words(*node, origin_);
      words.insert(words.begin() + 1, "-stay");
      run_there(*node, words, key_input_, "started\n");
    } else {
      run_there(*node, tkill_words(*node, which == LAM_SSI_BOOT_PROC_RECON), AgentInput::kNothing, "");
    }
    return 0;
  });
}

}  // namespace
}  // namespace slurm

constinit const lam_ssi_boot_1_1_0_t slurm_module = BuiltInModule<slurm::Module>::make();

}  // namespace openlapi::boot
