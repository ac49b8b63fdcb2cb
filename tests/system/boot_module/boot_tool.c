/* A booting agent that goes through table 1 of the boot SSI specification, for daemons, or with "recon" or "wipe" as
 * its first argument for those; "leaf": only selects, as a daemon does. Compiled against the installed headers and
 * library. */
#include <lam-ssi-boot.h>
#include <stdio.h>
#include <string.h>

static int boot(OPT* args, lam_ssi_boot_proc_t which) {
  const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
  struct lamnode* nodes = NULL;
  int count = 0, origin = -1, started = -1, status, n;
  if (actions->lsba_parse_options(args, 1) != 0 || actions->lsba_allocate_nodes(&nodes, &count, &origin) != 0) return 1;
  if (actions->lsba_verify_nodes(nodes, count) != 0 || actions->lsba_prepare_boot() != 0) return 1;
  status = actions->lsba_start_rte_procs(nodes, count, which, &started);
  printf("tool status %d started %d:", status, started);
  for (n = 0; n < count; ++n) {
    if ((nodes[n].lnd_type & NT_BOOT) == 0) printf(" %s", nodes[n].lnd_hname);
  }
  printf("\n");
  actions->lsba_deallocate_nodes(&nodes, &count);
  return status != 0;
}

int main(int argc, char** argv) {
  OPT* args = ao_init();
  const int leaf = argc > 1 && strcmp(argv[1], "leaf") == 0;
  const int recon = argc > 1 && strcmp(argv[1], "recon") == 0, wipe = argc > 1 && strcmp(argv[1], "wipe") == 0;
  int status;
  if (recon || wipe) --argc, ++argv;
  ao_setflags(args, AOPRESERVE_ARGV);
  ao_setopt1(args, "dv", NULL, 0, 0);
  ao_setopt(args, "c", NULL, 1, 0);
  if (ao_parse(args, &argc, argv) != 0 || lam_ssi_boot_open(args) != 0) return 2;
  status = lam_ssi_boot_select(leaf ? LAM_SSI_BOOT_LOCATION_LEAF : LAM_SSI_BOOT_LOCATION_ROOT) != 0 ? 3 : 0;
  if (status == 0) {
    const lam_ssi_boot_actions_1_1_0_t* actions = lam_ssi_boot_selected_actions();
    printf("tool selected %s, get_nodeid %s\n", lam_ssi_boot_selected_name(),
           actions->lsba_get_nodeid == NULL ? "no" : "yes");
    fflush(stdout);
    if (!leaf) {
      status = boot(args, recon ? LAM_SSI_BOOT_PROC_RECON : wipe ? LAM_SSI_BOOT_PROC_WIPE : LAM_SSI_BOOT_PROC_LAMD);
    }
  }
  fflush(stdout);
  lam_ssi_boot_close();
  ao_free(args);
  return status;
}
