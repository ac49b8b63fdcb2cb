// The global variables of the specification's section 2.4.
#include "control/boot/include/lam-ssi-boot.h"

int lam_ssi_boot_did = -1;
int lam_ssi_boot_verbose = -1;
OPT* lam_ssi_boot_optd = nullptr;
int lam_ssi_boot_base_server_port = 0;
