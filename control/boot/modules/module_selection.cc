// lam_ssi_boot_open, _select, _close: the life of boot modules in this process, in the order of the specification's
// table 1.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/built_in_modules.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/boot/startup/startup_protocol.h"
#include "control/ssi/module_finder.h"

namespace openlapi::boot {
namespace {

using ssi::FoundModule;

constexpr int kHighestPriority = 100;

// What 1.0.0 has, under the names of 1.1.0.
lam_ssi_boot_actions_1_1_0_t converted(const lam_ssi_boot_actions_1_0_0_t& from) {
  lam_ssi_boot_actions_1_1_0_t to{};
  to.lsba_parse_options = from.lsba_parse_options;
  to.lsba_allocate_nodes = from.lsba_allocate_nodes;
  to.lsba_verify_nodes = from.lsba_verify_nodes;
  to.lsba_prepare_boot = from.lsba_prepare_boot;
  to.lsba_start_rte_procs = from.lsba_start_rte_procs;
  to.lsba_deallocate_nodes = from.lsba_deallocate_nodes;
  to.lsba_start_application = from.lsba_start_application;
  to.lsba_start_rte_proc = from.lsba_start_rte_proc;
  to.lsba_open_srv_connection = from.lsba_open_srv_connection;
  to.lsba_send_lamd_info = from.lsba_send_lamd_info;
  to.lsba_receive_lamd_info = from.lsba_receive_lamd_info;
  to.lsba_close_srv_connection = from.lsba_close_srv_connection;
  to.lsba_send_universe_info = from.lsba_send_universe_info;
  to.lsba_receive_universe_info = from.lsba_receive_universe_info;
  return to;
}

// Nothing: the module does not want to be used.
std::optional<lam_ssi_boot_actions_1_1_0_t> initialise(const FoundModule& module, lam_ssi_boot_location_t where,
                                                       int* priority) {
  if (module.is_1_1()) {
    const auto* boot = reinterpret_cast<const lam_ssi_boot_1_1_0_t*>(module.meta);
    const auto* actions = boot->lsb_init == nullptr ? nullptr : boot->lsb_init(where, priority);
    return actions == nullptr ? std::nullopt : std::optional(*actions);
  }
  const auto* boot = reinterpret_cast<const lam_ssi_boot_1_0_0_t*>(module.meta);
  const auto* actions = boot->lsb_init == nullptr ? nullptr : boot->lsb_init(where, priority);
  return actions == nullptr ? std::nullopt : std::optional(converted(*actions));
}

lam_ssi_boot_finalize_fn_t finalize_of(const FoundModule& module) {
  return module.is_1_1() ? reinterpret_cast<const lam_ssi_boot_1_1_0_t*>(module.meta)->lsb_finalize
                         : reinterpret_cast<const lam_ssi_boot_1_0_0_t*>(module.meta)->lsb_finalize;
}

bool has_boot_functions(const lam_ssi_boot_actions_1_1_0_t& actions) {
  return actions.lsba_parse_options != nullptr && actions.lsba_allocate_nodes != nullptr &&
         actions.lsba_verify_nodes != nullptr && actions.lsba_prepare_boot != nullptr &&
         actions.lsba_start_rte_procs != nullptr && actions.lsba_deallocate_nodes != nullptr;
}

class ModuleSelection {
 public:
  ModuleSelection() = default;
  ~ModuleSelection() { close(); }
  ModuleSelection(const ModuleSelection&) = delete;
  ModuleSelection& operator=(const ModuleSelection&) = delete;

  // Finds the modules and calls each one's open function. Throws BootError: none is left.
  void open(OPT* options);
  // Initialises all that are open and keeps the one with the highest priority (above 100 counts as 100; among equals
  // the first found); finalises and closes the others. Throws BootError: none wants to be used.
  void select(lam_ssi_boot_location_t where);
  // Finalises and closes what is open.
  void close();

  // nullptr before select.
  const lam_ssi_boot_actions_1_1_0_t* actions() const { return actions_ ? &*actions_ : nullptr; }
  const std::string& name() const { return name_; }

 private:
  struct OpenModule {
    FoundModule found{};
    bool initialised = false;
  };
  void close_module(OpenModule& module);

  const ssi::ModuleKind kind_{"boot", lam_ssi_boot_did, lam_ssi_boot_verbose};
  std::string named_;
  std::vector<OpenModule> modules_{};
  std::string name_{};
  std::optional<lam_ssi_boot_actions_1_1_0_t> actions_{};
};

void ModuleSelection::open(OPT* options) {
  named_ = kind_.named_module();
  for (FoundModule& module : ssi::open_modules(
           kind_, named_, ssi::find_modules(kind_, built_in_modules(), ssi::module_search_path(), named_), options)) {
    modules_.push_back({std::move(module), false});
  }
}

void ModuleSelection::select(lam_ssi_boot_location_t where) {
  std::size_t best = modules_.size();
  int best_priority = 0;
  std::optional<lam_ssi_boot_actions_1_1_0_t> best_actions;
  for (std::size_t n = 0; n < modules_.size(); ++n) {
    int priority = 0;
    const auto actions = initialise(modules_[n].found, where, &priority);
    modules_[n].initialised = true;
    priority = std::min(priority, kHighestPriority);
    if (actions && !has_boot_functions(*actions)) {
      kind_.print_error(modules_[n].found, " is left out: it lacks functions of sections 3.4 to 3.9");
      continue;
    }
    kind_.trace(modules_[n].found, actions ? "priority " + std::to_string(priority) : "does not want to be used");
    if (!actions || (best != modules_.size() && priority <= best_priority)) continue;
    best = n;
    best_priority = priority;
    best_actions = actions;
  }
  for (std::size_t n = 0; n < modules_.size(); ++n) {
    if (n != best) close_module(modules_[n]);
  }
  if (best == modules_.size()) {
    modules_.clear();
    kind_.refuse(named_, "this module does not want to be used here");
  }
  OpenModule selected = std::move(modules_[best]);
  modules_.clear();
  name_ = selected.found.name;
  actions_ = best_actions;
  kind_.trace(selected.found, "selected");
  modules_.push_back(std::move(selected));
}

void ModuleSelection::close() {
  for (OpenModule& module : modules_) close_module(module);
  modules_.clear();
  actions_.reset();
  name_.clear();
}

void ModuleSelection::close_module(OpenModule& module) {
  const lam_ssi_boot_finalize_fn_t finalize = finalize_of(module.found);
  if (module.initialised && finalize != nullptr && finalize() != 0) {
    kind_.print_error(module.found, ": finalize failed");
  }
  ssi::close_module(kind_, module.found);
}

constexpr int kStandardError = 2;
constexpr int kSilent = -1;
constexpr int kVerboseOfV = 0;
constexpr int kVerboseOfD = 1000;

std::unique_ptr<ModuleSelection> selection;

void set_verbosity(OPT* options) {
  int level = kSilent;
  if (ao_taken(options, "v") != 0) level = kVerboseOfV;
  if (ao_taken(options, "d") != 0) level = kVerboseOfD;
  lam_ssi_boot_verbose = ssi::ModuleKind("boot", lam_ssi_boot_did, lam_ssi_boot_verbose).verbose_parameter(level);
  lam_ssi_boot_did = kStandardError;
}

void open(OPT* options) {
  if (selection) throw BootError("the boot SSI is open already");
  set_verbosity(options);
  lam_ssi_boot_optd = options;
  auto opened = std::make_unique<ModuleSelection>();
  opened->open(options);
  selection = std::move(opened);
}

}  // namespace
}  // namespace openlapi::boot

using namespace openlapi::boot;

int lam_ssi_boot_open(OPT* args) {
  return catch_errors(LAMERROR, [&] {
    open(args);
    return 0;
  });
}

int lam_ssi_boot_select(lam_ssi_boot_location_t where) {
  return catch_errors(LAMERROR, [&] {
    if (!selection) throw BootError("lam_ssi_boot_select before lam_ssi_boot_open");
    if (selection->actions() != nullptr) throw BootError("a boot module is selected already: " + selection->name());
    selection->select(where);
    return 0;
  });
}

const lam_ssi_boot_actions_1_1_0_t* lam_ssi_boot_selected_actions() {
  return selection ? selection->actions() : nullptr;
}

const char* lam_ssi_boot_selected_name() {
  return selection && selection->actions() != nullptr ? selection->name().c_str() : nullptr;
}

int lam_ssi_boot_close() {
  selection.reset();
  forget_daemons();
  report_dropped_connections();
  lam_ssi_boot_optd = nullptr;
  return 0;
}
