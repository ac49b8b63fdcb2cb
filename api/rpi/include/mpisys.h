/* SPDX-License-Identifier: Apache-2.0 */
/* What rpi modules use of the MPI layer: communicators, groups, the list of processes (rpi SSI specification, sections
 * 3.3.4, 3.3.5, 3.4, 3.5.1). The layout is LAM 7.1's. */
#ifndef OPENLAPI_MPISYS_H
#define OPENLAPI_MPISYS_H

#include <stddef.h>

#include "app_mgmt.h"
#include "lam_mpi.h"
#include "typical.h"

struct _proc;
typedef struct ah_desc HASH; /* the MPI layer's */

/* ---- A group [3.3.5] ---- */
struct _group {
  int g_nprocs;
  int g_myrank; /* our place in g_procs, or MPI_UNDEFINED */
  int g_refcount;
  int g_f77handle;
  struct _proc** g_procs; /* by rank */
};

/* ---- A datatype. Not in the specification: lsra_fastsend and lsra_fastrecv are given one ---- */
struct _dtype {
  int dt_format;
  int dt_flags; /* LAM_DT flags */
  int dt_commit;
  int dt_refcount;
  int dt_f77handle;
  int dt_label;
  int dt_align;
  int dt_upper; /* the bounds, which make the extent */
  int dt_lower;
  int dt_size;   /* bytes of data */
  int dt_dataup; /* the data's own bounds */
  int dt_datalow;

  /* What it is made of; the MPI layer's */
  int dt_nelem;
  int dt_count;
  int dt_length;
  MPI_Aint dt_stride;
  MPI_Datatype dt_dtype;
  int* dt_lengths;
  MPI_Aint* dt_disps;
  MPI_Datatype* dt_dtypes;
  HASH* dt_keys;
  int* dt_uargs;
  char dt_name[MPI_MAX_OBJECT_NAME];
  long dt_reserved[4];
};

#define LAM_DTNOPACK 0x0040 /* the data of one lie side by side */
#define LAM_DTNOXADJ 0x0080 /* and those of the next follow them */

/* ---- A communicator [3.3.4] ---- */
struct lam_ssi_coll_data;
struct lam_ssi_coll_lam_basic_data;

struct _comm {
  int c_flags; /* LAM_C flags */
  int c_contextid;
  int c_refcount;
  MPI_Group c_group;  /* the local group */
  MPI_Group c_rgroup; /* the remote group of an intercommunicator */
  HASH* c_keys;
  int c_cube_dim;

  /* Topology */
  int c_topo_type; /* MPI_GRAPH, MPI_CART, MPI_UNDEFINED */
  int c_topo_nprocs;
  int c_topo_ndims;
  int c_topo_nedges;
  int* c_topo_dims;
  int* c_topo_coords;
  int* c_topo_index;
  int* c_topo_edges;

  int c_f77handle;
  MPI_Win c_window;
  MPI_Errhandler c_errhdl;
  char c_name[MPI_MAX_OBJECT_NAME];
  MPI_Comm c_shadow;
  long c_reserved[4];

  /* Not in the specification: collective operations, 24 words of their modules' */
  void (*c_ssi_coll[24])(void);
  struct lam_ssi_coll_data* c_ssi_coll_data;
  struct lam_ssi_coll_lam_basic_data* c_ssi_coll_lam_basic_data;
  int (*lsca_basic_finalize)(MPI_Comm);
};

#define LAM_CINTER 0x10   /* an intercommunicator */
#define LAM_CLDEAD 0x20   /* somebody in the local group is dead */
#define LAM_CRDEAD 0x40   /* somebody in the remote group is dead */
#define LAM_CFAKE 0x80    /* IMPI's; no module sees it */
#define LAM_CIMPI 0x80    /* LAM 7.1's name of it */
#define LAM_CHOMOG 0x100  /* all its processes have one byte order */
#define LAM_CHIDDEN 0x200 /* messages of the MPI layer itself */
#define LAM_RBASIC 0x400  /* the basic collective operations need one of their own */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The processes that this one knows [3.4, 3.5.1] ---- */
LAM_SSI_PUBLIC extern struct _proc* lam_myproc; /* this process */
/* All of them, from MPI_Init to MPI_Finalize; what lsr_init and lsra_addprocs were given is a module's own part. */
LAM_SSI_PUBLIC extern struct _proc** lam_procs;
LAM_SSI_PUBLIC extern int lam_num_procs;
/* First those of MPI_COMM_WORLD by rank, then others. There is one place in the list for all callers: loops do not
 * nest. NULL: no more. */
LAM_SSI_PUBLIC struct _proc* lam_topproc(void);
LAM_SSI_PUBLIC struct _proc* lam_nextproc(void);
LAM_SSI_PUBLIC int lam_nprocs(void);

/* Not in the specification: rq_seq of the next message that is sent, and whether all processes have one byte order. */
LAM_SSI_PUBLIC extern int lam_seqnum;
LAM_SSI_PUBLIC extern int lam_homog;

/* ---- For the MPI layer, as in LAM 7.1 ---- */
/* The process at this place, new unless it is known; not counted as a reference. NULL: no memory. */
LAM_SSI_PUBLIC struct _proc* lam_procadd(struct _gps* gps);
/* NULL: it is not known. */
LAM_SSI_PUBLIC struct _proc* lam_procfind(struct _gps* gps);
/* Takes a process out of the list and frees it; lam_procfree has the module finalise it first. 0, or LAMERROR: it is
 * not in the list, or the module failed. */
LAM_SSI_PUBLIC int lam_procrm(struct _proc* proc);
LAM_SSI_PUBLIC int lam_procfree(struct _proc* proc);
/* Frees all without a word to the module. */
LAM_SSI_PUBLIC void lam_nukeprocs(void);
/* Less than, equal to, greater than zero: an order that is the same in all processes. */
LAM_SSI_PUBLIC int lam_proccmp(struct _proc* left, struct _proc* right);
LAM_SSI_PUBLIC void lam_procsort(struct _proc** procs, int nprocs);

/* memcpy. */
LAM_SSI_PUBLIC void* lam_memcpy(void* dest, const void* src, size_t size);

#ifdef __cplusplus
}
#endif

#endif
