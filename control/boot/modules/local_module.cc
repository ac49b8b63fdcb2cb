// Boot module "local": every node of the universe is this machine. For a universe of one, and for tests with many.
// Host names must be this machine's, unless the user asked for this module by name (LAM_MPI_SSI_boot=local).
#include <arpa/inet.h>

#include <cstdlib>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/built_in_module.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/nodes/node_array.h"
#include "control/boot/processes/local_processes.h"

namespace openlapi::boot {
namespace local {
namespace {

class Module {
 public:
  static constexpr const char* kName = "local";
  static constexpr int kPriority = 5;  // below a remote shell's 10
  static constexpr auto kStartProcesses = boot_windowed_unless_asked;

  static bool is_available() { return true; }
  int parse_options(OPT* args, int bhost_schema_args) { return hosts_.parse_options(args, bhost_schema_args); }
  int allocate_nodes(lamnode** nodes, int* nnodes, int* origin);
  int verify_nodes(lamnode* nodes, int nnodes);
  int prepare_boot() { return 0; }
  int start_application(char*** argv, int* argc, int num_procs, lamnode* node) {
    return start_application_here(argv, argc, num_procs, node);
  }
  int start_rte_proc(lamnode* node, lam_ssi_boot_proc_t which) { return start_here(node, which, origin_); }

 private:
  SchemaNodes hosts_{};
  OriginNode origin_{};
};

int Module::allocate_nodes(lamnode** nodes, int* nnodes, int* origin) {
  if (hosts_.allocate(nodes, nnodes, origin) != 0) return LAMERROR;
  if (hosts_.grows()) return 0;
  *origin = 0;
  (*nodes)[0].lnd_type |= NT_ORIGIN | NT_ME;
  return 0;
}

bool is_asked_for() {
  const char* named = std::getenv("LAM_MPI_SSI_boot");
  return named != nullptr && std::string(named) == "local";
}

int Module::verify_nodes(lamnode* nodes, int nnodes) {
  return catch_errors(LAMERROR, [&] {
    for (int n = 0; n < nnodes; ++n) {
      if (!is_valid(nodes[n])) continue;
      int bad = 0;
      if (!is_asked_for() && (lamnet_findhosts(&nodes[n], 1, &bad) != 0 || lamnet_findorig(&nodes[n], 1) != 0)) {
        throw BootError("node " + name_of(nodes[n]) +
                        " is not this machine; allowed with boot module local: names of "
                        "this machine, or any with LAM_MPI_SSI_boot=local");
      }
      const in_port_t port = nodes[n].lnd_addr.sin_port;
      nodes[n].lnd_addr = sockaddr_in{};
      nodes[n].lnd_addr.sin_family = AF_INET;
      nodes[n].lnd_addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      nodes[n].lnd_addr.sin_port = port;
      // A universe may have lost its origin.
      if ((nodes[n].lnd_type & (hosts_.grows() ? NT_ME : NT_ORIGIN)) != 0) origin_ = {nodes[n], n};
    }
    return 0;
  });
}

}  // namespace
}  // namespace local

constinit const lam_ssi_boot_1_1_0_t local_module = BuiltInModule<local::Module>::make();

}  // namespace openlapi::boot
