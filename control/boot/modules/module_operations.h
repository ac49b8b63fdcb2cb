// What the algorithms do to nodes, by the selected module. It also starts the helpers of the tree algorithm, as its
// applications on other nodes (section 3.10).
#pragma once

#include <utility>

#include "control/boot/tree/boot_tree.h"
#include "control/boot/tree/tree_messages.h"

namespace openlapi::boot {

class ModuleOperations final : public TreeOperations {
 public:
  // `origin`: of the universe.
  ModuleOperations(const lam_ssi_boot_actions_1_1_0_t& actions, const BootRequest& request, TopologyOrigin origin)
      : actions_(actions), request_(request), origin_(std::move(origin)) {}

  bool start(lamnode& node, lam_ssi_boot_proc_t which) override;
  bool open_server(lamnode* nodes, int count) override { return actions_.lsba_open_srv_connection(nodes, count) == 0; }
  bool receive(lamnode* nodes, int count) override { return actions_.lsba_receive_lamd_info(nodes, count) == 0; }
  bool close_server() override { return actions_.lsba_close_srv_connection() == 0; }
  bool send_universe(lamnode* nodes, int count, int which) override {
    return actions_.lsba_send_universe_info(nodes, count, which) == 0;
  }
  std::unique_ptr<Subtree> start_helper(const std::vector<const lamnode*>& nodes, const TreeShape& shape) override;

  // The module can start applications, and helpers know where to report.
  bool can_start_helpers() const { return actions_.lsba_start_application != nullptr && here() != nullptr; }

 private:
  const lamnode* here() const;
  std::vector<std::string> helper_words(const lamnode& node, int port) const;

  const lam_ssi_boot_actions_1_1_0_t& actions_;
  const BootRequest request_;
  const TopologyOrigin origin_;
};

// What built-in modules have for lsba_start_rte_procs: the algorithm that LAM_MPI_SSI_boot_base_algorithm names, else
// this one; daemons with the startup protocol.
int boot_threaded_unless_asked(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started);
int boot_windowed_unless_asked(lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started);

}  // namespace openlapi::boot
