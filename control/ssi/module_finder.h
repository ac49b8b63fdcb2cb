// Finds modules: those that are built in, and shared objects in a search path.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "control/ssi/module_kind.h"

namespace openlapi::ssi {

// The folders in which users' modules lie: LAM_MPI_SSI_base_module_path, else where modules are installed.
std::string module_search_path();

// In the order of preference among equals: built-in ones first, then those of the folders in `search_path` (a colon
// between them), in the order of their names. A shared object lam_ssi_KIND_NAME_module.so or ssi_KIND_NAME.so must
// export the variable lam_ssi_KIND_NAME_module; the first one takes the place of a built-in module of its name. What
// its .laminfo file names is loaded before it (module_dependencies.h). `only`: look for no other name (empty: for all).
// What cannot be used is reported on standard error and left out.
std::vector<FoundModule> find_modules(const ModuleKind& kind, std::span<const lam_ssi_1_0_0_t* const> built_in,
                                      const std::string& search_path, const std::string& only);

// Calls each module's open function; a module that does not return 1 is left out. Throws SsiError: none is left, or
// not the one that is `named`.
std::vector<FoundModule> open_modules(const ModuleKind& kind, const std::string& named, std::vector<FoundModule> found,
                                      OPT* options);
void close_module(const ModuleKind& kind, const FoundModule& module);

}  // namespace openlapi::ssi
