// What the built-in boot modules have in common: the functions of the C interface, whose parameters are fixed, call one
// object that is there from init to finalize.
#pragma once

#include <optional>
#include <string_view>

#include "control/boot/include/boot.h"
#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

// Of a `Module`: kName, kPriority, kStartProcesses (its lsba_start_rte_procs), is_available() (false: it is not to be
// used here) and functions with the names, parameters and results of the interface; without start_application it has no
// helpers.
template <typename Module>
class BuiltInModule {
 public:
  static constexpr lam_ssi_boot_1_1_0_t make() {
    lam_ssi_boot_1_1_0_t made = {{1, 0, 0, "boot", 1, 1, 0, "", 1, 0, 0, nullptr, nullptr}, init, finalize};
    std::string_view(Module::kName).copy(made.lsb_meta_info.ssi_module_name, LAM_MPI_SSI_BASE_MAX_MODULE_NAME_LEN - 1);
    return made;
  }

 private:
  static const lam_ssi_boot_actions_1_1_0_t* init(lam_ssi_boot_location_t, int* priority) {
    static constexpr lam_ssi_boot_actions_1_1_0_t kActions = actions();
    if (!Module::is_available()) return nullptr;
    module_.emplace();
    return lam_ssi_boot_base_check_priority(Module::kName, Module::kPriority, 0, priority) == 0 ? &kActions : nullptr;
  }

  static int finalize() {
    module_.reset();
    return 0;
  }

  static constexpr lam_ssi_boot_actions_1_1_0_t actions() {
    return {
        .lsba_parse_options = call<&Module::parse_options>,
        .lsba_allocate_nodes = call<&Module::allocate_nodes>,
        .lsba_verify_nodes = call<&Module::verify_nodes>,
        .lsba_prepare_boot = call<&Module::prepare_boot>,
        .lsba_start_rte_procs = Module::kStartProcesses,
        .lsba_deallocate_nodes = lam_deallocate_nodes,
        .lsba_start_application = start_application(),
        .lsba_start_rte_proc = call<&Module::start_rte_proc>,
        .lsba_get_nodeid = lam_ssi_boot_base_get_nodeid,
        .lsba_open_srv_connection = lam_ssi_boot_base_open_srv_connection,
        .lsba_send_lamd_info = lam_ssi_boot_base_send_lamd_info,
        .lsba_receive_lamd_info = lam_ssi_boot_base_receive_lamd_info,
        .lsba_close_srv_connection = lam_ssi_boot_base_close_srv_connection,
        .lsba_send_universe_info = lam_ssi_boot_base_send_universe_info,
        .lsba_receive_universe_info = lam_ssi_boot_base_receive_universe_info,
    };
  }

  template <auto kFunction, typename... Arguments>
  static int call(Arguments... arguments) {
    return ((*module_).*kFunction)(arguments...);
  }

  static constexpr lam_ssi_boot_start_application_fn_t start_application() {
    if constexpr (requires { &Module::start_application; }) {
      return call<&Module::start_application>;
    } else {
      return nullptr;
    }
  }

  static inline std::optional<Module> module_{};
};

}  // namespace openlapi::boot
