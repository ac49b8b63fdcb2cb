/* A boot module as a third party writes it: C, the installed headers, nothing else of openlapi. Which interface it has,
 * and its name, come from the compiler's command line. It prints every call. */
#include <all_list.h>
#include <all_opt.h>
#include <boot.h>
#include <lam-ssi-boot.h>
#include <lam-ssi.h>
#include <lamdebug.h>
#include <lamnet.h>
#include <sfh.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QUOTED_(name) #name
#define QUOTED(name) QUOTED_(name)
#define JOINED_(left, name, right) left##name##right
#define JOINED(left, name, right) JOINED_(left, name, right)
#define MODULE JOINED(lam_ssi_boot_, NAME, _module)

#ifdef LAM_SSI_BOOT_1_1_0
#define MINOR 1
#else
#define MINOR 0
#endif

struct lnd_ssi_boot_nodeinfo {
  int launches;
};

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const lam_ssi_boot_t MODULE;

static char* schema;

static void say(const char* what) {
  printf("%s %s\n", QUOTED(NAME), what);
  fflush(stdout);
}

static int setting(const char* what, int otherwise) {
  char variable[100];
  const char* value;
  snprintf(variable, sizeof variable, "EXAMPLE_%s_%s", QUOTED(NAME), what);
  value = getenv(variable);
  return value == NULL ? otherwise : atoi(value);
}

static int open_module(OPT* args) {
  say(args == lam_ssi_boot_optd && args != NULL ? "open" : "open without arguments");
  return setting("open", 1);
}

static int close_module(void) {
  say("close");
  return 0;
}

static int finalize(void) {
  say("finalize");
  return 0;
}

static int parse_options(OPT* args, int bhost_schema_args) {
  say("parse_options");
  schema = bhost_schema_args ? lam_ssi_boot_base_find_boot_schema(args) : NULL;
  return schema == NULL;
}

static int allocate_nodes(struct lamnode** nodes, int* nnodes, int* origin) {
  say("allocate_nodes");
  if (bhostparse(schema, nodes, nnodes) != 0) return 1;
  *origin = 0;
  (*nodes)[0].lnd_type |= NT_ORIGIN | NT_ME;
  return 0;
}

static int verify_nodes(struct lamnode* nodes, int nnodes) {
  (void)nodes;
  printf("%s verify_nodes %d\n", QUOTED(NAME), nnodes);
  return 0;
}

static int prepare_boot(void) {
  say("prepare_boot");
  return 0;
}

static int start_rte_procs(struct lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  const int daemons = which == LAM_SSI_BOOT_PROC_LAMD;
  const char* algorithm = getenv("EXAMPLE_algorithm");
  say("start_rte_procs");
  if (algorithm != NULL && strcmp(algorithm, "windowed") == 0)
    return lam_ssi_boot_base_alg_linear_windowed(nodes, nnodes, daemons, which, num_started);
  if (algorithm != NULL && strcmp(algorithm, "thread") == 0)
    return lam_ssi_boot_base_alg_thread(nodes, nnodes, daemons, which, num_started);
  return lam_ssi_boot_base_alg_linear(nodes, nnodes, daemons, which, num_started);
}

static int deallocate_nodes(struct lamnode** nodes, int* nnodes) {
  say("deallocate_nodes");
  free(schema);
  schema = NULL;
  lam_deallocate_nodes(nodes, nnodes); /* no result in 1.1.0 */
  return 0;
}

static int start_rte_proc(struct lamnode* node, lam_ssi_boot_proc_t which) {
  struct lamnode origin;
  char* topology;
  LIST* list = NULL;
  struct psc* process;
  memset(&origin, 0, sizeof origin);
  if (which == LAM_SSI_BOOT_PROC_WIPE) {
    printf("%s wipe %s\n", QUOTED(NAME), node->lnd_hname);
    return 0;
  }
  topology = lam_ssi_boot_build_inet_topo(node, origin, 0);
  if (hbootparse(lam_ssi_boot_did, lam_ssi_boot_optd, topology, NULL, &list) != 0) return 1;
  for (process = (struct psc*)al_top(list); process != NULL; process = (struct psc*)al_next(list, process)) {
    char* words = sfh_argv_glue(process->psc_argv, ' ', 0);
    printf("%s start %s: %s\n", QUOTED(NAME), node->lnd_hname, words);
    free(words);
  }
  free(topology);
  al_free(list);
  return strcmp(node->lnd_hname, "broken") == 0;
}

static int open_srv_connection(struct lamnode* nodes, int nnodes) {
  (void)nodes;
  (void)nnodes;
  say("open_srv_connection");
  lam_ssi_boot_base_server_port = 4711;
  return 0;
}

static int send_lamd_info(OPT* args, int dli_port) { return args == NULL || dli_port == 0; }

static int receive_lamd_info(struct lamnode* nodes, int nnodes) {
  printf("%s receive_lamd_info %d\n", QUOTED(NAME), nnodes);
  nodes[0].lnd_bootport = 1;
  return 0;
}

static int close_srv_connection(void) {
  say("close_srv_connection");
  return 0;
}

static int send_universe_info(struct lamnode* nodes, int nnodes, int which) {
  printf("%s send_universe_info %d to %s\n", QUOTED(NAME), nnodes, nodes[which].lnd_hname);
  return 0;
}

static int receive_universe_info(struct lamnode** universe, int* universe_size) {
  *universe = NULL;
  *universe_size = 0;
  return 0;
}

#ifdef LAM_SSI_BOOT_1_1_0
static int get_nodeid(OPT* args) { return args == NULL ? NOTNODEID : 5; }
#endif

static const lam_ssi_boot_actions_t actions = {
    parse_options,
    allocate_nodes,
    verify_nodes,
    prepare_boot,
    start_rte_procs,
    deallocate_nodes,
    NULL,
    start_rte_proc,
#ifdef LAM_SSI_BOOT_1_1_0
    get_nodeid,
#endif
    open_srv_connection,
    send_lamd_info,
    receive_lamd_info,
    close_srv_connection,
    send_universe_info,
    receive_universe_info,
};

static const lam_ssi_boot_actions_t* init(lam_ssi_boot_location_t where, int* priority) {
  say(where == LAM_SSI_BOOT_LOCATION_ROOT ? "init root" : "init leaf");
  if (lam_ssi_boot_base_check_priority(QUOTED(NAME), PRIORITY, 0, priority) != 0) return NULL;
  return setting("init", 1) ? &actions : NULL;
}

const lam_ssi_boot_t MODULE = {
    {1, 0, 0, "boot", 1, MINOR, 0, QUOTED(NAME), 1, 0, 0, open_module, close_module},
    init,
    finalize,
};
