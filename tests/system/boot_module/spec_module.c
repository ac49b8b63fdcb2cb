/* Boot module "spec": written from the boot SSI specification alone, interface 1.0.0, with the sections' numbers. It
 * logs in with the words of SPEC_AGENT, or ssh, and starts there what the process schema says; nothing else of openlapi
 * is known here, and least of all that daemons have a key. */
#define _GNU_SOURCE
#include <lam-ssi-boot.h>
#include <lam-ssi.h>

#include <boot.h>

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PRIORITY 20

#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const lam_ssi_boot_1_0_0_t lam_ssi_boot_spec_module;

static char* schema;
static char* new_host;
static struct lamnode origin_node;
static int origin_index;

/* [3.4] */
static int parse_options(OPT* args, int bhost_schema_args) {
  if (bhost_schema_args == 1) return (schema = lam_ssi_boot_base_find_boot_schema(args)) == NULL;
  return (new_host = lam_ssi_boot_base_find_hostname(args)) == NULL;
}

/* [3.5] The origin is known when addresses are; [2.5.7] of a universe that grows at once. */
static int allocate_nodes(struct lamnode** nodes, int* nnodes, int* origin) {
  *origin = 0;
  if (new_host != NULL) return lam_ssi_boot_base_lamgrow(new_host, nodes, nnodes, origin) == NULL;
  return bhostparse(schema, nodes, nnodes);
}

static int resolve(struct lamnode* node) {
  struct addrinfo hints, *found = NULL;
  memset(&hints, 0, sizeof hints);
  hints.ai_family = AF_INET;
  if (getaddrinfo(node->lnd_hname, NULL, &hints, &found) != 0) {
    fprintf(stderr, "spec: %s has no address\n", node->lnd_hname);
    return 1;
  }
  memcpy(&node->lnd_addr, found->ai_addr, sizeof node->lnd_addr);
  freeaddrinfo(found);
  return 0;
}

/* [3.6] Existence of nodes; which is the local one. */
static int verify_nodes(struct lamnode* nodes, int nnodes) {
  char name[256] = "";
  int n, here = -1;
  gethostname(name, sizeof name - 1);
  for (n = 0; n < nnodes; ++n) {
    if (nodes[n].lnd_nodeid == NOTNODEID) continue;
    if (resolve(&nodes[n]) != 0) return 1;
    if (here < 0 && strcmp(nodes[n].lnd_hname, name) == 0) here = n;
  }
  if (here < 0) {
    fprintf(stderr, "spec: %s is not in the list\n", name);
    return 1;
  }
  nodes[here].lnd_type |= NT_ME;
  if (new_host == NULL) nodes[here].lnd_type |= NT_ORIGIN;
  origin_node = nodes[here];
  origin_index = here;
  return 0;
}

/* [3.7] */
static int prepare_boot(void) { return 0; }

/* [3.8], [2.5.11] */
static int start_rte_procs(struct lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which, int* num_started) {
  const int daemons = which == LAM_SSI_BOOT_PROC_LAMD;
  const char* algorithm = getenv("SPEC_ALGORITHM");
  if (algorithm != NULL && strcmp(algorithm, "tree") == 0)
    return lam_ssi_boot_base_alg_tree(nodes, nnodes, daemons, which, num_started);
  if (algorithm != NULL && strcmp(algorithm, "thread") == 0)
    return lam_ssi_boot_base_alg_thread(nodes, nnodes, daemons, which, num_started);
  if (algorithm != NULL && strcmp(algorithm, "windowed") == 0)
    return lam_ssi_boot_base_alg_linear_windowed(nodes, nnodes, daemons, which, num_started);
  return lam_ssi_boot_base_alg_linear(nodes, nnodes, daemons, which, num_started);
}

/* [3.9] */
static int deallocate_nodes(struct lamnode** nodes, int* nnodes) { return lam_deallocate_nodes(nodes, nnodes); }

/* The key=value pairs of the boot schema [2.3.1]. */
static const char* value_of(struct lamnode* node, const char* key) {
  ELEM* pair;
  for (pair = (ELEM*)al_top(node->lnd_keyval); pair != NULL; pair = (ELEM*)al_next(node->lnd_keyval, pair)) {
    if (strcmp(pair->key, key) == 0) return pair->value;
  }
  return NULL;
}

static void add_agent(struct lamnode* node, int* count, char*** words) {
  const char* agent = getenv("SPEC_AGENT");
  *words = sfh_argv_break(agent == NULL ? "ssh -x -o BatchMode=yes" : agent, ' ');
  *count = sfh_argv_count(*words);
  if (node->lnd_uname != NULL) {
    sfh_argv_add(count, words, "-l");
    sfh_argv_add(count, words, node->lnd_uname);
  }
  sfh_argv_add(count, words, node->lnd_hname);
}

/* One command, here or there [2.5.8]. */
static int launch(struct lamnode* node, char** argv) {
  const char* prefix = value_of(node, "prefix");
  char program[1000];
  char** words = NULL;
  int count = 0, n, status;
  snprintf(program, sizeof program, "%s%s%s", prefix ? prefix : "", prefix ? "/bin/" : "", argv[0]);
  if ((node->lnd_type & NT_ME) == 0) add_agent(node, &count, &words);
  sfh_argv_add(&count, &words, program);
  for (n = 1; argv[n] != NULL; ++n) sfh_argv_add(&count, &words, argv[n]);
  status = lam_ssi_boot_base_ioexecvp(words, 1, NULL, 0);
  sfh_argv_free(words);
  return status;
}

/* [3.10] */
static int start_application(char*** argv, int* argc, int num_procs, struct lamnode* node) {
  int started = 0;
  (void)argc;
  while (started < num_procs && launch(node, argv[started]) == 0) ++started;
  return started;
}

/* So many lines for the user, about each node whose pairs ask for them. */
static void say(struct lamnode* node) {
  const char* lines = value_of(node, "says");
  int n, count = lines == NULL ? 0 : atoi(lines);
  for (n = 1; n <= count; ++n) {
    fprintf(stderr, "spec: %s: line %d of %d, as long as lines are\n", node->lnd_hname, n, count);
  }
}

static int start_with_common_args(struct lamnode* node, char** argv, int argc) {
  int failed;
  char** words = sfh_argv_dup(argv);
  lam_ssi_boot_do_common_args(lam_ssi_boot_optd, &argc, &words);
  failed = start_application(&words, &argc, 1, node) != 1;
  sfh_argv_free(words);
  return failed;
}

/* [2.5.2], the example */
static int start_daemons(struct lamnode* node) {
  LIST* bootlist = NULL;
  struct psc* p;
  int failed;
  char* inet_buf;
  say(node);
  inet_buf = lam_ssi_boot_build_inet_topo(node, origin_node, origin_index);
  failed = inet_buf == NULL || hbootparse(lam_ssi_boot_did, lam_ssi_boot_optd, inet_buf, NULL, &bootlist) != 0;
  for (p = failed ? NULL : (struct psc*)al_top(bootlist); p != NULL; p = (struct psc*)al_next(bootlist, p)) {
    failed = failed || start_with_common_args(node, p->psc_argv, p->psc_argc) != 0;
    sleep((unsigned int)p->psc_delay);
  }
  free(inet_buf);
  if (bootlist != NULL) al_free(bootlist);
  return failed;
}

/* [3.11]; [1.1] what recon and wipe run. */
static int start_rte_proc(struct lamnode* node, lam_ssi_boot_proc_t which) {
  char* argv[3] = {(char*)"tkill", (char*)"-N", NULL};
  if (which == LAM_SSI_BOOT_PROC_LAMD) return start_daemons(node);
  if (which == LAM_SSI_BOOT_PROC_WIPE) argv[1] = NULL;
  return start_with_common_args(node, argv, argv[1] == NULL ? 1 : 2);
}

static int finalize(void) {
  free(schema);
  free(new_host);
  schema = new_host = NULL;
  return 0;
}

/* [figure 2]; [2.5.12] */
static const lam_ssi_boot_actions_1_0_0_t actions = {
    parse_options,
    allocate_nodes,
    verify_nodes,
    prepare_boot,
    start_rte_procs,
    deallocate_nodes,
    start_application,
    start_rte_proc,
    lam_ssi_boot_base_open_srv_connection,
    lam_ssi_boot_base_send_lamd_info,
    lam_ssi_boot_base_receive_lamd_info,
    lam_ssi_boot_base_close_srv_connection,
    lam_ssi_boot_base_send_universe_info,
    lam_ssi_boot_base_receive_universe_info,
};

/* [3.2] */
static const lam_ssi_boot_actions_1_0_0_t* init(lam_ssi_boot_location_t where, int* priority) {
  (void)where;
  return lam_ssi_boot_base_check_priority((char*)"spec", PRIORITY, 0, priority) == 0 ? &actions : NULL;
}

/* [figure 1] */
const lam_ssi_boot_1_0_0_t lam_ssi_boot_spec_module = {
    {1, 0, 0, "boot", 1, 0, 0, "spec", 1, 0, 0, NULL, NULL},
    init,
    finalize,
};
