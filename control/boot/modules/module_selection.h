// The life of boot modules in a process: open, init, select, finalize, close, in the order of the specification's
// table 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"
#include "control/ssi/module_finder.h"

namespace openlapi::boot {

using ssi::FoundModule;

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

}  // namespace openlapi::boot
