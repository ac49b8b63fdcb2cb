/* SPDX-License-Identifier: Apache-2.0 */
/* The boot kind of the System Services Interface: starts a universe's daemons on its nodes (boot SSI specification; the
 * numbers in brackets are its sections). Man page: lam-ssi-boot(7).
 *
 * A module exports, from a shared object, a variable lam_ssi_boot_NAME_module of type lam_ssi_boot_1_0_0_t, or
 * lam_ssi_boot_1_1_0_t, whose actions have one function more, lsba_get_nodeid. Names without a version mean 1.0.0, as
 * in the specification; with LAM_SSI_BOOT_1_1_0 defined before the first include they mean 1.1.0, as in LAM 7.1.
 *
 * Unless said otherwise functions return 0 for success, and print what went wrong before they return anything else. */
#ifndef OPENLAPI_LAM_SSI_BOOT_H
#define OPENLAPI_LAM_SSI_BOOT_H

#include "all_list.h"
#include "all_opt.h"
#include "lam-ssi.h"
#include "lamnet.h"
#include "sfh.h"

/* Where a module is initialised [3.2]. */
typedef enum {
  LAM_SSI_BOOT_LOCATION_ROOT,     /* lamboot, recon, wipe, lamgrow */
  LAM_SSI_BOOT_LOCATION_INTERIOR, /* a helper of a hierarchical algorithm */
  LAM_SSI_BOOT_LOCATION_LEAF,     /* everywhere else; the daemon */

  LAM_SSI_BOOT_LOCATION_MAX
} lam_ssi_boot_location_t;

/* What to start [2.3.3]. */
typedef enum {
  LAM_SSI_BOOT_PROC_LAMD,
  LAM_SSI_BOOT_PROC_RECON,
  LAM_SSI_BOOT_PROC_WIPE,

  LAM_SSI_BOOT_PROC_MAX
} lam_ssi_boot_proc_t;

struct lam_ssi_boot_actions_1_0_0;
struct lam_ssi_boot_actions_1_1_0;

/* ---- Functions of a module [3] ---- */
typedef const struct lam_ssi_boot_actions_1_0_0* (*lam_ssi_boot_init_1_0_0_fn_t)(lam_ssi_boot_location_t where,
                                                                                 int* priority);
typedef const struct lam_ssi_boot_actions_1_1_0* (*lam_ssi_boot_init_1_1_0_fn_t)(lam_ssi_boot_location_t where,
                                                                                 int* priority);
typedef int (*lam_ssi_boot_finalize_fn_t)(void);

typedef int (*lam_ssi_boot_parse_options_fn_t)(OPT* args, int bhost_schema_args);
typedef int (*lam_ssi_boot_allocate_nodes_fn_t)(struct lamnode** nodes, int* nnodes, int* origin);
typedef int (*lam_ssi_boot_verify_nodes_fn_t)(struct lamnode* nodes, int nnodes);
typedef int (*lam_ssi_boot_prepare_boot_fn_t)(void);
typedef int (*lam_ssi_boot_start_rte_procs_fn_t)(struct lamnode* nodes, int nnodes, lam_ssi_boot_proc_t which,
                                                 int* num_started);
typedef int (*lam_ssi_boot_deallocate_nodes_fn_t)(struct lamnode** nodes, int* nnodes);

typedef int (*lam_ssi_boot_start_application_fn_t)(char*** argv, int* argc, int num_procs, struct lamnode* node);
typedef int (*lam_ssi_boot_start_rte_proc_fn_t)(struct lamnode* node, lam_ssi_boot_proc_t which);

typedef int (*lam_ssi_boot_get_nodeid_fn_t)(OPT* args);
typedef int (*lam_ssi_boot_open_srv_connection_fn_t)(struct lamnode* nodes, int nnodes);
typedef int (*lam_ssi_boot_send_lamd_info_fn_t)(OPT* args, int dli_port);
typedef int (*lam_ssi_boot_receive_lamd_info_fn_t)(struct lamnode* nodes, int nnodes);
typedef int (*lam_ssi_boot_close_srv_connection_fn_t)(void);
typedef int (*lam_ssi_boot_send_universe_info_fn_t)(struct lamnode* nodes, int nnodes, int which);
typedef int (*lam_ssi_boot_receive_universe_info_t)(struct lamnode** universe, int* universe_size);

/* ---- Interface 1.0.0 ---- */
typedef struct lam_ssi_boot_1_0_0 {
  lam_ssi_1_0_0_t lsb_meta_info;

  lam_ssi_boot_init_1_0_0_fn_t lsb_init;
  lam_ssi_boot_finalize_fn_t lsb_finalize;
} lam_ssi_boot_1_0_0_t;

typedef struct lam_ssi_boot_actions_1_0_0 {
  lam_ssi_boot_parse_options_fn_t lsba_parse_options;
  lam_ssi_boot_allocate_nodes_fn_t lsba_allocate_nodes;
  lam_ssi_boot_verify_nodes_fn_t lsba_verify_nodes;
  lam_ssi_boot_prepare_boot_fn_t lsba_prepare_boot;
  lam_ssi_boot_start_rte_procs_fn_t lsba_start_rte_procs;
  lam_ssi_boot_deallocate_nodes_fn_t lsba_deallocate_nodes;

  /* Called by the algorithms; NULL if none is used */
  lam_ssi_boot_start_application_fn_t lsba_start_application;
  lam_ssi_boot_start_rte_proc_fn_t lsba_start_rte_proc;

  lam_ssi_boot_open_srv_connection_fn_t lsba_open_srv_connection;
  lam_ssi_boot_send_lamd_info_fn_t lsba_send_lamd_info;
  lam_ssi_boot_receive_lamd_info_fn_t lsba_receive_lamd_info;
  lam_ssi_boot_close_srv_connection_fn_t lsba_close_srv_connection;

  lam_ssi_boot_send_universe_info_fn_t lsba_send_universe_info;
  lam_ssi_boot_receive_universe_info_t lsba_receive_universe_info;
} lam_ssi_boot_actions_1_0_0_t;

/* ---- Interface 1.1.0: the same with lsba_get_nodeid, which tells a daemon the number of its node ---- */
typedef struct lam_ssi_boot_1_1_0 {
  lam_ssi_1_0_0_t lsb_meta_info;

  lam_ssi_boot_init_1_1_0_fn_t lsb_init;
  lam_ssi_boot_finalize_fn_t lsb_finalize;
} lam_ssi_boot_1_1_0_t;

typedef struct lam_ssi_boot_actions_1_1_0 {
  lam_ssi_boot_parse_options_fn_t lsba_parse_options;
  lam_ssi_boot_allocate_nodes_fn_t lsba_allocate_nodes;
  lam_ssi_boot_verify_nodes_fn_t lsba_verify_nodes;
  lam_ssi_boot_prepare_boot_fn_t lsba_prepare_boot;
  lam_ssi_boot_start_rte_procs_fn_t lsba_start_rte_procs;
  lam_ssi_boot_deallocate_nodes_fn_t lsba_deallocate_nodes;

  lam_ssi_boot_start_application_fn_t lsba_start_application;
  lam_ssi_boot_start_rte_proc_fn_t lsba_start_rte_proc;

  lam_ssi_boot_get_nodeid_fn_t lsba_get_nodeid;
  lam_ssi_boot_open_srv_connection_fn_t lsba_open_srv_connection;
  lam_ssi_boot_send_lamd_info_fn_t lsba_send_lamd_info;
  lam_ssi_boot_receive_lamd_info_fn_t lsba_receive_lamd_info;
  lam_ssi_boot_close_srv_connection_fn_t lsba_close_srv_connection;

  lam_ssi_boot_send_universe_info_fn_t lsba_send_universe_info;
  lam_ssi_boot_receive_universe_info_t lsba_receive_universe_info;
} lam_ssi_boot_actions_1_1_0_t;

#ifdef LAM_SSI_BOOT_1_1_0
typedef lam_ssi_boot_init_1_1_0_fn_t lam_ssi_boot_init_fn_t;
typedef lam_ssi_boot_1_1_0_t lam_ssi_boot_t;
typedef lam_ssi_boot_actions_1_1_0_t lam_ssi_boot_actions_t;
#else
typedef lam_ssi_boot_init_1_0_0_fn_t lam_ssi_boot_init_fn_t;
typedef lam_ssi_boot_1_0_0_t lam_ssi_boot_t;
typedef lam_ssi_boot_actions_1_0_0_t lam_ssi_boot_actions_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Global variables [2.4] ---- */
LAM_SSI_PUBLIC extern int lam_ssi_boot_did;     /* debug stream of the boot SSI */
LAM_SSI_PUBLIC extern int lam_ssi_boot_verbose; /* below 0: silent; 0: -v; 1000: -d */
LAM_SSI_PUBLIC extern OPT* lam_ssi_boot_optd;   /* the tool's command line */
/* Port on which daemons report to the booting agent: whoever opens the server connection sets it. */
LAM_SSI_PUBLIC extern int lam_ssi_boot_base_server_port;

/* ---- For tools and daemons: the life of the boot SSI in a process (tables 1 and 2) ---- */
/* Finds and opens the modules: all, or the one that LAM_MPI_SSI_boot names. */
LAM_SSI_PUBLIC int lam_ssi_boot_open(OPT* args);
/* Initialises them and keeps the one with the highest priority; the others are finalised and closed. */
LAM_SSI_PUBLIC int lam_ssi_boot_select(lam_ssi_boot_location_t where);
/* Of the module that was selected; NULL: none. lsba_get_nodeid is NULL if its interface is 1.0.0. */
LAM_SSI_PUBLIC const lam_ssi_boot_actions_1_1_0_t* lam_ssi_boot_selected_actions(void);
LAM_SSI_PUBLIC const char* lam_ssi_boot_selected_name(void);
/* Finalises and closes what is still open. */
LAM_SSI_PUBLIC int lam_ssi_boot_close(void);

/* ---- Functions for modules [2.5] ---- */
LAM_SSI_PUBLIC int lam_ssi_boot_base_check_priority(const char* module_name, int base, int want_default, int* priority);
/* Malloc'ed; NULL, with the reason printed: nothing was found. */
LAM_SSI_PUBLIC char* lam_ssi_boot_base_find_boot_schema(OPT* args);
LAM_SSI_PUBLIC char* lam_ssi_boot_base_find_hostname(OPT* args);
/* Returns the name of the new node, which belongs to the array; NULL: not possible, and why was printed. */
LAM_SSI_PUBLIC char* lam_ssi_boot_base_lamgrow(const char* hostname, struct lamnode** nodes, int* nnodes, int* origin);
/* What lsba_verify_nodes has to find out [3.6]: resolves all names, finds the local node and marks it NT_ME, and
 * NT_ORIGIN if no node is the origin yet. Refused: a name that does not resolve; no local node in the list; an address
 * 127.x among several nodes. `*origin` (may be NULL) is the index of the local node. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_verify_nodes(struct lamnode* nodes, int nnodes, int* origin);
/* Runs a command to its end; output of processes that outlive it is not waited for. On its standard input is the key of
 * this boot, which lamd, hboot and lamtree read there, and nothing else; whoever starts them through an agent has to
 * let it pass (ssh -n does not). 0: the command ended with status 0. */
#ifdef LAM_SSI_BOOT_1_1_0
/* As in LAM 7.1: frees `cmdv` (sfh_argv_free). With `stderr_is_err` not 0 it is a failure, with EFAULT in errno, when
 * the command writes to standard error; else errno is its status. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_ioexecvp(char** cmdv, int showout, char* outbuff, int outbuffsize,
                                              int stderr_is_err);
#else
LAM_SSI_PUBLIC int lam_ssi_boot_base_ioexecvp(char** cmdv, int showout, char* outbuff,
                                              int outbuffsize) __asm__("lam_ssi_boot_base_ioexecvp_1_0_0");
#endif
/* Malloc'ed. */
LAM_SSI_PUBLIC char* lam_ssi_boot_build_inet_topo(struct lamnode* dest_node, struct lamnode origin_node, int origin);
/* Appends -d and -v if `aod` has them: every program that a module starts takes them. */
LAM_SSI_PUBLIC int lam_ssi_boot_do_common_args(OPT* aod, int* argc, char*** argv);
/* Appends "prefix/dir/fname". */
LAM_SSI_PUBLIC int lam_ssi_boot_base_append_path(const char* prefix, const char* dir, const char* fname, int* argc,
                                                 char*** argv);
/* The value of key "prefix" in a node's lnd_keyval, which owns it; NULL: there is none. */
LAM_SSI_PUBLIC char* lam_ssi_boot_base_find_prefix(LIST* keyval);

/* Algorithms [2.5.11], for lsba_start_rte_procs; they call the selected module's functions. Nodes without NT_BOOT and
 * invalid ones are skipped. NT_BOOT is reset in exactly those nodes that were started, `*num_started` of them. 0: all.
 * All nodes are tried, also after one has failed. With LAM_MPI_SSI_boot_base_cleanup=1 a failure ends what was started.
 * Windows: LAM_MPI_SSI_boot_base_linear_win_size or _boot_base_window_size (5); _boot_base_thread_count (16). */
LAM_SSI_PUBLIC int lam_ssi_boot_base_alg_linear(struct lamnode* nodes, int nnodes, int want_startup_protocol,
                                                lam_ssi_boot_proc_t which, int* num_started);
LAM_SSI_PUBLIC int lam_ssi_boot_base_alg_linear_windowed(struct lamnode* nodes, int nnodes, int want_startup_protocol,
                                                         lam_ssi_boot_proc_t which, int* num_started);
/* Helpers, lamtree started by lsba_start_application, on interior nodes boot their subtrees, one launch at a time in
 * each process. Children of a node: LAM_MPI_SSI_boot_base_tree_degree (from the number of nodes). */
LAM_SSI_PUBLIC int lam_ssi_boot_base_alg_tree(struct lamnode* nodes, int nnodes, int want_startup_protocol,
                                              lam_ssi_boot_proc_t which, int* num_started);
/* The tree with several launches at a time in each process; up to that many nodes need no helper. The module's start
 * functions must be thread safe: they are called from several threads at the same time. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_alg_thread(struct lamnode* nodes, int nnodes, int want_startup_protocol,
                                                lam_ssi_boot_proc_t which, int* num_started);

/* Startup protocol over TCP [2.5.12], for the actions of the same names. Both sides prove that they hold the key of
 * this boot. Reports are taken only from the addresses of the nodes; with LAM_MPI_SSI_boot_base_promisc=1 from
 * everywhere. A node whose daemon has ended instead of reporting gets the lnd_bootport -1 and counts as failed. Agent
 * and daemons stay connected until lam_ssi_boot_close: a daemon whose agent ends before it has the universe gives up.
 */
LAM_SSI_PUBLIC int lam_ssi_boot_base_get_nodeid(OPT* args);
LAM_SSI_PUBLIC int lam_ssi_boot_base_open_srv_connection(struct lamnode* nodes, int nnodes);
LAM_SSI_PUBLIC int lam_ssi_boot_base_send_lamd_info(OPT* args, int dli_port);
LAM_SSI_PUBLIC int lam_ssi_boot_base_receive_lamd_info(struct lamnode* nodes, int nnodes);
LAM_SSI_PUBLIC int lam_ssi_boot_base_close_srv_connection(void);
LAM_SSI_PUBLIC int lam_ssi_boot_base_send_universe_info(struct lamnode* nodes, int nnodes, int which);
LAM_SSI_PUBLIC int lam_ssi_boot_base_receive_universe_info(struct lamnode** universe, int* universe_size);
/* Of a daemon that has the universe: its connection to the agent, over which nothing comes but the end; the caller
 * closes it. -1: it has none, or this has been called. Otherwise lam_ssi_boot_close closes it. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_take_agent(void);
/* The key: 32 bytes. The booting agent writes it to a daemon's standard input, or to a file of mode 0600; the daemon
 * reads it. Never on a command line. lam_ssi_boot_base_ioexecvp has done that already. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_write_key(int fd);
LAM_SSI_PUBLIC int lam_ssi_boot_base_read_key(int fd);

/* For lamtree: boots the nodes of the subtree that the process tells which options -H and -P name; the key has been
 * read. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_run_helper(OPT* args);

/* For a tool that calls lamgrow inside a universe: the nodes there are, and which of them is the origin. They are
 * copied. */
LAM_SSI_PUBLIC int lam_ssi_boot_base_set_universe(const struct lamnode* nodes, int nnodes, int origin);

#ifdef __cplusplus
}
#endif

#endif
