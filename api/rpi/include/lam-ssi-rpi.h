/* SPDX-License-Identifier: Apache-2.0 */
/* The rpi kind of the System Services Interface: moves the messages of MPI's requests (rpi SSI specification; the
 * numbers in brackets are its sections). LAM/MPI 7.1 and openlapi's host open the same modules.
 *
 * A module exports, from a shared object ssi_rpi_NAME.so, a variable lam_ssi_rpi_NAME_module of type
 * lam_ssi_rpi_1_0_0_t, or lam_ssi_rpi_1_1_0_t, whose actions have one function more, lsra_interrupt. Names without a
 * version mean 1.0.0, as in the specification; with LAM_SSI_RPI_1_1_0 defined before the first include they mean 1.1.0,
 * as in LAM 7.1.
 *
 * Unless said otherwise functions return 0 or LAMERROR, and do not block. No function may call MPI. */
#ifndef OPENLAPI_LAM_SSI_RPI_H
#define OPENLAPI_LAM_SSI_RPI_H

#include "all_list.h"
#include "all_opt.h"
#include "lam-ssi.h"
#include "lam_mpi.h"
#include "mpisys.h"
#include "rpisys.h"

struct lam_ssi_rpi_actions_1_0_0;
struct lam_ssi_rpi_actions_1_1_0;

/* ---- Functions of a module [4] ---- */
/* 1: the module can be used, with that priority and those thread levels; anything else: it is closed [4.3]. */
typedef int (*lam_ssi_rpi_query_fn_t)(int* priority, int* thread_min, int* thread_max);
/* Of the selected module. `procs` is freed afterwards. The largest tag and context may be lowered. NULL: an error
 * [4.4]. */
typedef const struct lam_ssi_rpi_actions_1_0_0* (*lam_ssi_rpi_init_1_0_0_fn_t)(struct _proc** procs, int nprocs,
                                                                               int* maxtag, int* maxcid);
typedef const struct lam_ssi_rpi_actions_1_1_0* (*lam_ssi_rpi_init_1_1_0_fn_t)(struct _proc** procs, int nprocs,
                                                                               int* maxtag, int* maxcid);

/* New processes only; must fail rather than hang [4.5]. */
typedef int (*lam_ssi_rpi_addprocs_fn_t)(struct _proc** procs, int nprocs);
/* A process, which is not touched again, or NULL, last of all: the module [4.6]. */
typedef int (*lam_ssi_rpi_finalize_fn_t)(struct _proc* proc);

/* A request's life [4.7 to 4.10] */
typedef int (*lam_ssi_rpi_build_fn_t)(MPI_Request req);
typedef int (*lam_ssi_rpi_start_fn_t)(MPI_Request req_top, MPI_Request req);
/* 1: some request's state has changed; 0: none; or LAMERROR. May block if `fl_block` is 1. */
typedef int (*lam_ssi_rpi_advance_fn_t)(MPI_Request req_top, int fl_block);
typedef int (*lam_ssi_rpi_destroy_fn_t)(MPI_Request req);

/* 1: there is a message for this probe, and its status is filled; 0: there is none; or LAMERROR [4.11]. */
typedef int (*lam_ssi_rpi_iprobe_fn_t)(MPI_Request req);

/* A whole receive or send while no request is active; may block. MPI_SUCCESS or LAMERROR [4.12, 4.13]. */
typedef int (*lam_ssi_rpi_fastrecv_fn_t)(char* buf, int count, MPI_Datatype type, int src, int* tag, MPI_Comm comm,
                                         MPI_Status* status, int* seqnum);
typedef int (*lam_ssi_rpi_fastsend_fn_t)(char* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);

/* `baseptr` is the address of a pointer [4.14, 4.15]. */
typedef int (*lam_ssi_rpi_alloc_mem_fn_t)(MPI_Aint size, MPI_Info info, void* baseptr);
typedef int (*lam_ssi_rpi_free_mem_fn_t)(void* baseptr);

/* Not in the specification: ends a blocking lsra_advance, for a checkpoint. */
typedef int (*lam_ssi_rpi_interrupt_fn_t)(void);
/* All three, or none [4.16 to 4.18]. */
typedef int (*lam_ssi_rpi_checkpoint_fn_t)(void);
typedef int (*lam_ssi_rpi_continue_fn_t)(void);
typedef int (*lam_ssi_rpi_restart_fn_t)(void);

/* ---- Interface 1.0.0 ---- */
typedef struct lam_ssi_rpi_1_0_0 {
  lam_ssi_1_0_0_t lsr_meta_info;

  lam_ssi_rpi_query_fn_t lsr_query;
  lam_ssi_rpi_init_1_0_0_fn_t lsr_init;
} lam_ssi_rpi_1_0_0_t;

typedef struct lam_ssi_rpi_actions_1_0_0 {
  lam_ssi_rpi_addprocs_fn_t lsra_addprocs;
  lam_ssi_rpi_finalize_fn_t lsra_finalize;

  lam_ssi_rpi_build_fn_t lsra_build;
  lam_ssi_rpi_start_fn_t lsra_start;
  lam_ssi_rpi_advance_fn_t lsra_advance;
  lam_ssi_rpi_destroy_fn_t lsra_destroy;

  lam_ssi_rpi_iprobe_fn_t lsra_iprobe;

  /* NULL: there is none */
  lam_ssi_rpi_fastrecv_fn_t lsra_fastrecv;
  lam_ssi_rpi_fastsend_fn_t lsra_fastsend;

  lam_ssi_rpi_alloc_mem_fn_t lsra_alloc_mem;
  lam_ssi_rpi_free_mem_fn_t lsra_free_mem;

  lam_ssi_rpi_checkpoint_fn_t lsra_checkpoint;
  lam_ssi_rpi_continue_fn_t lsra_continue;
  lam_ssi_rpi_restart_fn_t lsra_restart;

  int lsra_tv_queue_support; /* 1: debuggers find messages in lam_ssi_rpi_cbuf_ [4.19] */
} lam_ssi_rpi_actions_1_0_0_t;

/* ---- Interface 1.1.0: the same with lsra_interrupt ---- */
typedef struct lam_ssi_rpi_1_1_0 {
  lam_ssi_1_0_0_t lsr_meta_info;

  lam_ssi_rpi_query_fn_t lsr_query;
  lam_ssi_rpi_init_1_1_0_fn_t lsr_init;
} lam_ssi_rpi_1_1_0_t;

typedef struct lam_ssi_rpi_actions_1_1_0 {
  lam_ssi_rpi_addprocs_fn_t lsra_addprocs;
  lam_ssi_rpi_finalize_fn_t lsra_finalize;

  lam_ssi_rpi_build_fn_t lsra_build;
  lam_ssi_rpi_start_fn_t lsra_start;
  lam_ssi_rpi_advance_fn_t lsra_advance;
  lam_ssi_rpi_destroy_fn_t lsra_destroy;

  lam_ssi_rpi_iprobe_fn_t lsra_iprobe;

  lam_ssi_rpi_fastrecv_fn_t lsra_fastrecv;
  lam_ssi_rpi_fastsend_fn_t lsra_fastsend;

  lam_ssi_rpi_alloc_mem_fn_t lsra_alloc_mem;
  lam_ssi_rpi_free_mem_fn_t lsra_free_mem;

  lam_ssi_rpi_interrupt_fn_t lsra_interrupt;
  lam_ssi_rpi_checkpoint_fn_t lsra_checkpoint;
  lam_ssi_rpi_continue_fn_t lsra_continue;
  lam_ssi_rpi_restart_fn_t lsra_restart;

  int lsra_tv_queue_support;
} lam_ssi_rpi_actions_1_1_0_t;

#ifdef LAM_SSI_RPI_1_1_0
typedef lam_ssi_rpi_init_1_1_0_fn_t lam_ssi_rpi_init_fn_t;
typedef lam_ssi_rpi_1_1_0_t lam_ssi_rpi_t;
typedef lam_ssi_rpi_actions_1_1_0_t lam_ssi_rpi_actions_t;
#else
typedef lam_ssi_rpi_init_1_0_0_fn_t lam_ssi_rpi_init_fn_t;
typedef lam_ssi_rpi_1_0_0_t lam_ssi_rpi_t;
typedef lam_ssi_rpi_actions_1_0_0_t lam_ssi_rpi_actions_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif

LAM_SSI_PUBLIC extern int lam_ssi_rpi_did;     /* debug stream of the rpi SSI */
LAM_SSI_PUBLIC extern int lam_ssi_rpi_verbose; /* below 0: silent */

#ifdef __cplusplus
}
#endif

#endif
