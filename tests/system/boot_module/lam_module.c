/* Boot module "lamlike": written as those of LAM 7.1 are, interface 1.1.0, with every function and header that LAM's
 * module rsh needs. It compiles against LAM's headers and against ours, and what either makes of it runs here. */
#include <lam_config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <all_opt.h>
#include <args.h>
#include <boot.h>
#include <etc_misc.h>
#include <lam-ssi-boot.h>
#include <lam-ssi.h>
#include <lamdebug.h>
#include <laminternal.h>
#include <lamnet.h>
#include <net.h>
#include <sfh.h>
#include <typical.h>

/* What both must have at the same places; with 64 bits. */
#if defined(__x86_64__)
#define AT(type, member, place) _Static_assert(offsetof(type, member) == place, #type " " #member)
#define IS(type, size) _Static_assert(sizeof(type) == size, #type)
AT(struct lamnode, lnd_nodeid, 0);
AT(struct lamnode, lnd_type, 4);
AT(struct lamnode, lnd_ncpus, 8);
AT(struct lamnode, lnd_bootport, 12);
AT(struct lamnode, lnd_hname, 16);
AT(struct lamnode, lnd_uname, 24);
AT(struct lamnode, lnd_addr, 32);
AT(struct lamnode, lnd_keyval, 48);
AT(struct lamnode, lnd_ssi, 56);
IS(struct lamnode, 64);
AT(LIST, al_elemsize, 0);
AT(LIST, al_nelem, 4);
AT(LIST, al_ltop, 8);
AT(LIST, al_lbottom, 16);
AT(LIST, al_ftop, 24);
AT(LIST, al_comp, 32);
IS(LIST, 40);
IS(struct al_head, 16);
AT(ELEM, key, 0);
AT(ELEM, value, 8);
AT(lam_ssi_1_0_0_t, ssi_kind_name, 12);
AT(lam_ssi_1_0_0_t, ssi_kind_major_version, 44);
AT(lam_ssi_1_0_0_t, ssi_module_name, 56);
AT(lam_ssi_1_0_0_t, ssi_module_major_version, 120);
AT(lam_ssi_1_0_0_t, ssi_open_module, 136);
IS(lam_ssi_1_0_0_t, 152);
AT(lam_ssi_boot_1_1_0_t, lsb_init, 152);
IS(lam_ssi_boot_1_1_0_t, 168);
AT(lam_ssi_boot_actions_1_1_0_t, lsba_start_application, 48);
AT(lam_ssi_boot_actions_1_1_0_t, lsba_get_nodeid, 64);
AT(lam_ssi_boot_actions_1_1_0_t, lsba_receive_universe_info, 112);
IS(lam_ssi_boot_actions_1_1_0_t, 120);
_Static_assert(NT_WASTE == 4 && NT_BOOT == 0x40 && NT_ME == 0x80 && NT_ORIGIN == 0x100 && NOTNODEID == -1, "net.h");
_Static_assert(LAM_SSI_BOOT_PROC_WIPE == 2 && LAM_SSI_BOOT_LOCATION_LEAF == 2 && LAMERROR == -1 && TRUE && !FALSE, "");
#endif

extern const lam_ssi_boot_1_1_0_t lam_ssi_boot_lamlike_module;

static int agent_param, tell_param, priority_param;
static char *schema, *new_host, *prefix;
static struct lamnode origin_node;
static int origin_index = -1;

static int open_module(OPT* args) {
  (void)args;
  agent_param = lam_ssi_base_param_register_string("boot", "lamlike", "agent", NULL, "ssh -x");
  tell_param = lam_ssi_base_param_register_int("boot", "lamlike", "tell", NULL, 0);
  priority_param = lam_ssi_base_param_register_int("boot", "lamlike", "priority", NULL, 15);
  return 1;
}

static int parse_options(OPT* args, int schema_is_wanted) {
  prefix = ao_taken(args, "prefix") ? ao_param(args, "prefix", 0, 0) : NULL;
  if (schema_is_wanted == 1) return (schema = lam_ssi_boot_base_find_boot_schema(args)) == NULL;
  return (new_host = lam_ssi_boot_base_find_hostname(args)) == NULL;
}

/* Walks the pairs with the macros. */
static void tell_nodes(struct lamnode* nodes, int count) {
  int n;
  for (n = 0; n < count; ++n) {
    LIST* pairs = nodes[n].lnd_keyval;
    ELEM* pair;
    char* found = lam_ssi_boot_base_find_prefix(pairs);
    lam_debug(lam_ssi_boot_did, "lamlike: n%d %s has %d pairs, prefix %s", nodes[n].lnd_nodeid, nodes[n].lnd_hname,
              (int)al_count(pairs), found == NULL ? "none" : found);
    for (pair = al_top(pairs); pair != NULL; pair = pair == al_bottom(pairs) ? NULL : al_next(pairs, pair)) {
      lam_debug(lam_ssi_boot_did, "lamlike: n%d %s=%s", nodes[n].lnd_nodeid, pair->key, pair->value);
    }
  }
}

static int allocate_nodes(struct lamnode** nodes, int* nnodes, int* origin) {
  int bad = 0;
  if (schema != NULL) {
    if (bhostparse(schema, nodes, nnodes) != 0) return LAMERROR;
  } else if (lam_ssi_boot_base_lamgrow(new_host, nodes, nnodes, origin) == NULL) {
    return LAMERROR;
  }
  if (lamnet_findhosts(*nodes, *nnodes, &bad) != 0) return LAMERROR;
  *origin = origin_index = lamnet_findorig(*nodes, *nnodes);
  if (origin_index < 0) {
    show_help("boot", "no-localhost", "The boot module lamlike", schema, NULL);
    return LAMERROR;
  }
  (*nodes)[origin_index].lnd_type |= NT_ORIGIN | NT_ME;
  origin_node = (*nodes)[origin_index];
  if (lam_ssi_base_param_lookup_int(tell_param)) tell_nodes(*nodes, *nnodes);
  return 0;
}

static int verify_nodes(struct lamnode* nodes, int nnodes) {
  if (nnodes < 2 || ao_taken(lam_ssi_boot_optd, "l") || inet_netof(nodes[origin_index].lnd_addr.sin_addr) != 127)
    return 0;
  show_help("boot-ssi", "resolve-localhost", "The boot module lamlike", nodes[origin_index].lnd_hname,
            inet_ntoa(nodes[origin_index].lnd_addr.sin_addr), NULL);
  return LAMERROR;
}

static int prepare_boot(void) { return 0; }

static int start_rte_procs(struct lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  return lam_ssi_boot_base_alg_linear(nodes, nnodes, which == LAM_SSI_BOOT_PROC_LAMD, which, num_started);
}

static int deallocate_nodes(struct lamnode** nodes, int* nnodes) {
  lam_deallocate_nodes(nodes, nnodes);
  return 0;
}

/* The agent's words for a host; ioexecvp frees them. */
static char** agent_words(struct lamnode* node, char* const* command) {
  char* agent = lam_ssi_base_param_lookup_string(agent_param);
  char** words = sfh_argv_break(agent, ' ');
  int count = sfh_argv_count(words);
  sfh_argv_add(&count, &words, node->lnd_hname);
  for (; *command != NULL; ++command) sfh_argv_add(&count, &words, *command);
  free(agent);
  return words;
}

static int run_there(struct lamnode* node, char** argv) {
  char shell[100] = "";
  char* ask[2] = {"echo $SHELL", NULL};
  char *whole, **words = agent_words(node, ask);
  if (lam_ssi_boot_base_ioexecvp(words, 0, shell, sizeof shell, 1) != 0 || shell[0] != '/') {
    show_help("boot", errno == EFAULT ? "remote-stderr" : "remote-shell-fail", node->lnd_hname, "agent", ask[0], "",
              NULL);
    return LAMERROR;
  }
  words = agent_words(node, argv);
  whole = sfh_argv_glue(words, ' ', 0);
  if (lam_ssi_boot_base_ioexecvp(words, 1, NULL, 0, 1) == 0) {
    free(whole);
    return 0;
  }
  show_help("boot", errno == EFAULT ? "remote-stderr" : "remote-boot-fail", node->lnd_hname, "agent", argv[0], whole,
            NULL);
  free(whole);
  return LAMERROR;
}

static int start_application(char*** argv, int* argc, int num_procs, struct lamnode* node) {
  int n;
  (void)argc;
  for (n = 0; n < num_procs; ++n) {
    if ((node->lnd_type & NT_ME ? _lam_few(argv[n]) : run_there(node, argv[n])) != 0) break;
  }
  return n;
}

static void add_program(char* folder, char* name, int* argc, char*** argv) {
  if (folder != NULL) {
    lam_ssi_boot_base_append_path(folder, "bin", name, argc, argv);
  } else {
    sfh_argv_add(argc, argv, name);
  }
}

/* As LAM's modules do, with quotes for the shell there. */
static int add_hboot(struct lamnode* node, char* folder, int* argc, char*** argv) {
  const char* quote = (node->lnd_type & NT_ME) != 0 && folder == NULL ? "" : "\"";
  char quoted[1000];
  char* topology = lam_ssi_boot_build_inet_topo(node, origin_node, origin_index);
  if (topology == NULL) return LAMERROR;
  snprintf(quoted, sizeof quoted, "%s%s%s", quote, topology, quote);
  free(topology);
  add_program(folder, "hboot", argc, argv);
  sfh_argv_add(argc, argv, "-t");
  sfh_argv_add(argc, argv, "-c");
  if (ao_taken(lam_ssi_boot_optd, "c")) {
    sfh_argv_add(argc, argv, ao_param(lam_ssi_boot_optd, "c", 0, 0));
  } else if (folder != NULL) {
    lam_ssi_boot_base_append_path(folder, "etc", "lam-conf.lamd", argc, argv);
  } else {
    sfh_argv_add(argc, argv, "lam-conf.lamd");
  }
  sfh_argv_add(argc, argv, "-s");
  sfh_argv_add(argc, argv, "-I");
  sfh_argv_add(argc, argv, quoted);
  if (folder != NULL) {
    sfh_argv_add(argc, argv, "-prefix");
    sfh_argv_add(argc, argv, folder);
  }
  return 0;
}

static char* folder_of(struct lamnode* node) {
  char key[] = "prefix";
  ELEM wanted, *found;
  wanted.key = key;
  found = node->lnd_keyval == NULL ? NULL : al_find(node->lnd_keyval, &wanted);
  return found == NULL ? prefix : found->value;
}

static int start_rte_proc(struct lamnode* node, lam_ssi_boot_proc_t which) {
  int argc = 0, started;
  char** argv = NULL;
  char *folder = folder_of(node), *suffix = which == LAM_SSI_BOOT_PROC_RECON ? NULL : lam_get_tmpdir_suffix();
  if (which == LAM_SSI_BOOT_PROC_LAMD) {
    if (add_hboot(node, folder, &argc, &argv) != 0) return LAMERROR;
  } else {
    add_program(folder, DEFTTKILL, &argc, &argv);
    if (which == LAM_SSI_BOOT_PROC_RECON) sfh_argv_add(&argc, &argv, "-N");
  }
  lam_ssi_boot_do_common_args(lam_ssi_boot_optd, &argc, &argv);
  if (suffix != NULL) {
    sfh_argv_add(&argc, &argv, "-sessionsuffix");
    sfh_argv_add(&argc, &argv, suffix);
    free(suffix);
  }
  started = start_application(&argv, &argc, 1, node);
  sfh_argv_free(argv);
  return started == 1 ? 0 : LAMERROR;
}

static int finalize(void) {
  free(schema);
  free(new_host);
  schema = new_host = NULL;
  return 0;
}

static const lam_ssi_boot_actions_1_1_0_t actions = {
    parse_options,
    allocate_nodes,
    verify_nodes,
    prepare_boot,
    start_rte_procs,
    deallocate_nodes,
    start_application,
    start_rte_proc,
    lam_ssi_boot_base_get_nodeid,
    lam_ssi_boot_base_open_srv_connection,
    lam_ssi_boot_base_send_lamd_info,
    lam_ssi_boot_base_receive_lamd_info,
    lam_ssi_boot_base_close_srv_connection,
    lam_ssi_boot_base_send_universe_info,
    lam_ssi_boot_base_receive_universe_info,
};

/* The names without a version are LAM's. */
static const lam_ssi_boot_actions_t* init(lam_ssi_boot_location_t where, int* priority) {
  (void)where;
  *priority = lam_ssi_base_param_lookup_int(priority_param);
  return *priority < 0 ? NULL : &actions;
}

const lam_ssi_boot_t lam_ssi_boot_lamlike_module = {
    {1, 0, 0, "boot", 1, 1, 0, "lamlike", 1, 0, 0, open_module, NULL},
    init,
    finalize,
};
