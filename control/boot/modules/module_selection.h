// The life of boot modules in a process: open, init, select, finalize, close, in the order of the specification's
// table 1.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/module_finder.h"

namespace openlapi::boot {

class ModuleSelection {
 public:
  // `named`: the only module that may be used, what LAM_MPI_SSI_boot says (empty: any).
  explicit ModuleSelection(std::string named) : named_(std::move(named)) {}
  ~ModuleSelection() { close(); }
  ModuleSelection(const ModuleSelection&) = delete;
  ModuleSelection& operator=(const ModuleSelection&) = delete;

  // Calls each module's open function; a module that does not return 1 is left out. Throws BootError: none is left.
  void open(std::vector<FoundModule> found, OPT* options);
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
  static void close_module(OpenModule& module);
  [[noreturn]] void refuse(const std::string& what) const;

  std::string named_;
  std::vector<OpenModule> modules_{};
  std::string name_{};
  std::optional<lam_ssi_boot_actions_1_1_0_t> actions_{};
};

}  // namespace openlapi::boot
