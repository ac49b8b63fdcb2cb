// lam_ssi_boot_open, _select, _close: the one selection of this process.
#include <memory>
#include <string>

#include "control/boot/errors/boot_error.h"
#include "control/boot/include/lam-ssi-boot.h"
#include "control/boot/modules/module_selection.h"
#include "control/boot/startup/dropped_connections.h"
#include "control/boot/startup/startup_protocol.h"

namespace openlapi::boot {
namespace {

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
