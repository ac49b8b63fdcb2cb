// Finds boot modules: those that are built in, and shared objects in a search path.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/boot/include/lam-ssi-boot.h"

namespace openlapi::boot {

// A module that is there; its shared object, if it has one, stays loaded as long as this does.
struct FoundModule {
  std::string name{};
  std::string place{};                    // path of the shared object, or "built in"
  const lam_ssi_1_0_0_t* meta = nullptr;  // first member of a lam_ssi_boot_1_0_0_t or lam_ssi_boot_1_1_0_t
  std::shared_ptr<void> object{};

  bool is_built_in() const { return object == nullptr; }
  // True: the module has interface 1.1.0; else 1.0.0.
  bool is_1_1() const { return meta->ssi_kind_minor_version == 1; }
};

// In the order of preference among equals: built-in ones first, then those of the folders in `search_path` (a colon
// between them), in the order of their names. A shared object lam_ssi_boot_NAME_module.so or ssi_boot_NAME.so must
// export the variable lam_ssi_boot_NAME_module; the first one takes the place of a built-in module of its name. `only`:
// look for no other name (empty: for all). What cannot be used is reported on standard error and left out.
std::vector<FoundModule> find_modules(std::span<const lam_ssi_1_0_0_t* const> built_in, const std::string& search_path,
                                      const std::string& only);

}  // namespace openlapi::boot
