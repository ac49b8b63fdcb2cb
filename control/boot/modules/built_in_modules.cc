#include "control/boot/modules/built_in_modules.h"

namespace openlapi::boot {

std::span<const lam_ssi_1_0_0_t* const> built_in_modules() {
  static const lam_ssi_1_0_0_t* const modules[] = {&slurm_module.lsb_meta_info, &rsh_module.lsb_meta_info,
                                                   &local_module.lsb_meta_info};
  return modules;
}

}  // namespace openlapi::boot
