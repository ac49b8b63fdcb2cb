#include "control/tools/boot_sequence.h"

#include <algorithm>
#include <cstdlib>
#include <stdexcept>

#include "control/boot/include/lamnet.h"

namespace openlapi::daemon {

BootSequence::BootSequence(BootOptions& options, Nodes nodes) {
  int origin = -1;
  if (lam_ssi_boot_open(options.get()) != 0) throw std::runtime_error("no boot module can be opened");
  if (lam_ssi_boot_select(LAM_SSI_BOOT_LOCATION_ROOT) != 0) {
    clear();
    throw std::runtime_error("no boot module can be used");
  }
  const auto* actions = lam_ssi_boot_selected_actions();
  if (actions->lsba_parse_options(options.get(), nodes == Nodes::kOfSchema ? 1 : 0) != 0 ||
      actions->lsba_allocate_nodes(&nodes_, &count_, &origin) != 0 || actions->lsba_verify_nodes(nodes_, count_) != 0 ||
      actions->lsba_prepare_boot() != 0) {
    clear();
    throw std::runtime_error("nothing was started");
  }
  kept_ = count_;
}

BootSequence::~BootSequence() { clear(); }

void BootSequence::clear() {
  const auto* actions = lam_ssi_boot_selected_actions();
  if (nodes_ != nullptr && actions != nullptr) actions->lsba_deallocate_nodes(&nodes_, &count_);
  lam_ssi_boot_close();
}

bool BootSequence::start(lam_ssi_boot_proc_t which) {
  int started = 0;
  return lam_ssi_boot_selected_actions()->lsba_start_rte_procs(nodes_, count_, which, &started) == 0;
}

void BootSequence::keep_first(int count) {
  for (int n = count; n < count_; ++n) nodes_[n].lnd_type &= ~NT_BOOT;
  kept_ = std::min(count, count_);
}

bool BootSequence::take_back() {
  for (int n = 0; n < count_; ++n) {
    if (nodes_[n].lnd_nodeid != NOTNODEID) nodes_[n].lnd_type |= NT_BOOT;
  }
  return start(LAM_SSI_BOOT_PROC_WIPE);
}

const lamnode& BootSequence::joining() const {
  const lamnode* const end = nodes_ + count_;
  const lamnode* const found = std::find_if(static_cast<const lamnode*>(nodes_), end, [](const lamnode& node) {
    return node.lnd_nodeid != NOTNODEID && (node.lnd_type & NT_JOINS) != 0;
  });
  if (found == end) throw std::runtime_error("the boot module has no new node");
  return *found;
}

std::vector<std::string> BootSequence::hosts_with(int type, int without) const {
  std::vector<std::string> hosts;
  for (int n = 0; n < kept_; ++n) {
    const lamnode& node = nodes_[n];
    if (node.lnd_nodeid == NOTNODEID || (node.lnd_type & type) != type) continue;
    if ((node.lnd_type & without) != 0) continue;
    hosts.push_back("n" + std::to_string(node.lnd_nodeid) + " (" + (node.lnd_hname ? node.lnd_hname : "") + ")");
  }
  return hosts;
}

void pass_remote_shell_on(const BootOptions& options) {
  for (const auto& [option, parameter] :
       {std::pair{"b", "fast"}, std::pair{"nn", "no_n"}, std::pair{"np", "no_profile"}}) {
    if (options.has(option)) setenv((std::string("LAM_MPI_SSI_boot_rsh_") + parameter).c_str(), "1", 1);
  }
}

void pass_session_on(const BootOptions& options) {
  for (const auto& [option, variable] :
       {std::pair{"sessionprefix", "LAM_MPI_SESSION_PREFIX"}, std::pair{"sessionsuffix", "LAM_MPI_SESSION_SUFFIX"}}) {
    if (options.has(option)) setenv(variable, options.value(option).c_str(), 1);
  }
}

}  // namespace openlapi::daemon
