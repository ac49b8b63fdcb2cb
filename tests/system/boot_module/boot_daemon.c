/* A daemon as section 3.2 of the boot SSI specification has it: initialises the SSI as a leaf, comes to the same
 * selection as the booting agent, and uses the module's protocol functions. Writes the universe that it was told to the
 * file universe.NODE. */
#include <boot.h>
#include <lam-ssi-boot.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const lam_ssi_boot_actions_1_1_0_t* actions;
  struct lamnode* universe = NULL;
  int count = 0, n, node;
  char name[40];
  FILE* file;
  OPT* args = ao_init();
  ao_setopt1(args, "d", NULL, 0, 0);
  ao_setopt1(args, "HPno", NULL, 1, 0);
  if (ao_parse(args, &argc, argv) != 0 || lam_ssi_boot_base_read_key(STDIN_FILENO) != 0) return 1;
  if (lam_ssi_boot_open(args) != 0 || lam_ssi_boot_select(LAM_SSI_BOOT_LOCATION_LEAF) != 0) return 2;
  actions = lam_ssi_boot_selected_actions();
  node = actions->lsba_get_nodeid(args);
  if (actions->lsba_send_lamd_info(args, 7000 + node) != 0) return 3;
  if (actions->lsba_receive_universe_info(&universe, &count) != 0) return 4;
  snprintf(name, sizeof name, "universe.%d.new", node);
  file = fopen(name, "w");
  if (file == NULL) return 5;
  for (n = 0; n < count; ++n) {
    fprintf(file, "n%d %s %d cpus port %d\n", universe[n].lnd_nodeid, universe[n].lnd_hname, (int)universe[n].lnd_ncpus,
            ntohs(universe[n].lnd_addr.sin_port));
  }
  fclose(file);
  lam_deallocate_nodes(&universe, &count);
  lam_ssi_boot_close();
  ao_free(args);
  printf("daemon %d has the universe\n", node);
  return 0;
}
