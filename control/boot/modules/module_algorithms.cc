// lam_ssi_boot_base_alg_*: the algorithms over the callbacks of the selected module.
#include <cstdlib>
#include <limits>
#include <string>

#include "control/boot/algorithms/algorithms.h"
#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/module_algorithms.h"
#include "control/boot/modules/module_operations.h"
#include "control/boot/processes/remote_programs.h"
#include "control/boot/schemas/schema_words.h"
#include "control/boot/startup/boot_key.h"
#include "control/sealing/universe_word.h"
#include "dataplane/base/whole_number.h"

namespace openlapi::boot {
namespace {

constexpr int kDefaultWindow = 5;
constexpr int kDefaultThreads = 16;  // ssh agents at a time; more only compete for this machine's processors
constexpr int kMostThreads = 512;
constexpr int kMostChildren = 4096;

// A parameter that may have several names: the first one that is set counts.
int parameter(std::initializer_list<const char*> names, int otherwise, int most) {
  for (const char* name : names) {
    const std::string variable = std::string("LAM_MPI_SSI_") + name;
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr) continue;
    const auto number = whole_number(value, 1, most);
    if (!number) throw BootError(variable + " is " + shown(value) + "; allowed: 1 to " + std::to_string(most));
    return *number;
  }
  return otherwise;
}

bool clean_up_asked() {
  const char* value = std::getenv("LAM_MPI_SSI_boot_base_cleanup");
  const std::string text = value == nullptr ? "0" : value;
  if (text != "0" && text != "1") {
    throw BootError("LAM_MPI_SSI_boot_base_cleanup is " + shown(text) + "; allowed: 0, 1");
  }
  return text == "1";
}

const lam_ssi_boot_actions_1_1_0_t& usable_actions(bool startup_protocol) {
  const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
  if (actions == nullptr) throw BootError("a boot algorithm was called before a boot module was selected");
  const auto need = [](bool is_there, const char* name) {
    if (!is_there) {
      throw BootError(std::string("boot module ") + lam_ssi_boot_selected_name() + " uses an algorithm and has no " +
                      name);
    }
  };
  need(actions->lsba_start_rte_proc != nullptr, "lsba_start_rte_proc");
  if (!startup_protocol) return *actions;
  need(actions->lsba_open_srv_connection != nullptr, "lsba_open_srv_connection");
  need(actions->lsba_receive_lamd_info != nullptr, "lsba_receive_lamd_info");
  need(actions->lsba_close_srv_connection != nullptr, "lsba_close_srv_connection");
  need(actions->lsba_send_universe_info != nullptr, "lsba_send_universe_info");
  return *actions;
}

TopologyOrigin origin_of(const BootRequest& request) {
  for (int n = 0; n < request.count; ++n) {
    const lamnode& node = request.nodes[n];
    if (node.lnd_nodeid != NOTNODEID && (node.lnd_type & NT_ORIGIN) != 0) {
      return {node.lnd_nodeid, topology_host(node)};
    }
  }
  return {};
}

// Without helpers, where the module cannot start any, from this process alone.
BootReport run_tree(const BootRequest& request, ModuleOperations& operations, int at_once) {
  const int below = static_cast<int>(nodes_to_boot(request).size());
  const int degree = parameter({"boot_base_tree_degree"}, tree_degree(below, at_once), kMostChildren);
  if (operations.can_start_helpers()) return boot_tree(request, operations, {degree, at_once});
  return at_once == 1 ? boot_linear(request, operations) : boot_threaded(request, operations, at_once);
}

template <typename Algorithm>
int run(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which, int* num_started,
        Algorithm&& algorithm) {
  return catch_errors(LAMERROR, [&] {
    if (num_started == nullptr || nnodes < 0 || (nodes == nullptr && nnodes > 0)) {
      throw BootError("a boot algorithm got NULL, or " + std::to_string(nnodes) + " nodes");
    }
    *num_started = 0;
    const bool startup_protocol = want_startup_protocol != 0;
    // What this process ends from now on is what it has booted, and nothing beside it.
    if (which == LAM_SSI_BOOT_PROC_LAMD) setenv(kUniverseVariable, sealing::universe_word(boot_key()).c_str(), 1);
    const BootRequest request{nodes, nnodes, startup_protocol, which, clean_up_asked()};
    ModuleOperations operations(usable_actions(startup_protocol), request, origin_of(request));
    const BootReport report = algorithm(request, operations);
    *num_started = report.started;
    return report.complete ? 0 : LAMERROR;
  });
}

}  // namespace

int boot_as_asked(BootAlgorithm otherwise, lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return catch_errors(LAMERROR, [&] {
    const char* value = std::getenv("LAM_MPI_SSI_boot_base_algorithm");
    const std::string name = value == nullptr ? "" : value;
    BootAlgorithm algorithm = otherwise;
    if (name == "linear") {
      algorithm = lam_ssi_boot_base_alg_linear;
    } else if (name == "linear_windowed") {
      algorithm = lam_ssi_boot_base_alg_linear_windowed;
    } else if (name == "thread") {
      algorithm = lam_ssi_boot_base_alg_thread;
    } else if (name == "tree") {
      algorithm = lam_ssi_boot_base_alg_tree;
    } else if (!name.empty()) {
      throw BootError("LAM_MPI_SSI_boot_base_algorithm is " + shown(name) +
                      "; allowed: linear, linear_windowed, thread, tree");
    }
    return algorithm(nodes, nnodes, which == LAM_SSI_BOOT_PROC_LAMD ? 1 : 0, which, num_started);
  });
}

}  // namespace openlapi::boot

using namespace openlapi::boot;

int lam_ssi_boot_base_alg_linear(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                                 int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) { return boot_linear(request, operations); });
}

int lam_ssi_boot_base_alg_linear_windowed(lamnode* nodes, int nnodes, int want_startup_protocol,
                                          lam_ssi_boot_proc_t which, int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) {
               const int window = parameter({"boot_base_linear_win_size", "boot_base_window_size"}, kDefaultWindow,
                                            std::numeric_limits<int>::max());
               return boot_windowed(request, operations, window);
             });
}

int lam_ssi_boot_base_alg_tree(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                               int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) { return run_tree(request, operations, 1); });
}

int lam_ssi_boot_base_alg_thread(lamnode* nodes, int nnodes, int want_startup_protocol, lam_ssi_boot_proc_t which,
                                 int* num_started) {
  return run(nodes, nnodes, want_startup_protocol, which, num_started,
             [](const BootRequest& request, ModuleOperations& operations) {
               const int threads = parameter({"boot_base_thread_count"}, kDefaultThreads, kMostThreads);
               return run_tree(request, operations, threads);
             });
}
