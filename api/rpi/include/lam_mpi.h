/* SPDX-License-Identifier: Apache-2.0 */
/* What rpi modules see of MPI: the handles, a status, and the few constants that requests carry. The values are LAM
 * 7.1's. LAM's own mpi.h, included before, has all of it; a module calls no MPI function (rpi SSI specification, 4.1).
 */
#ifndef OPENLAPI_LAM_MPI_H
#define OPENLAPI_LAM_MPI_H

#if defined(MPI_VERSION) && !defined(LAM_MPI)
#error "lam-ssi-rpi.h is for modules of LAM/MPI; the mpi.h that was included before it is another MPI's"
#endif

#ifndef LAM_MPI

typedef struct _status MPI_Status;
typedef struct _group* MPI_Group;
typedef struct _comm* MPI_Comm;
typedef struct _dtype* MPI_Datatype;
typedef struct _req* MPI_Request;
typedef struct _errhdl* MPI_Errhandler;
typedef struct _info* MPI_Info;
typedef struct _window* MPI_Win;
typedef long MPI_Aint;

/* The first three are public in MPI. */
struct _status {
  int MPI_SOURCE;
  int MPI_TAG;
  int MPI_ERROR;
  int st_length; /* of the message, in bytes */
};

#define MPI_SUCCESS 0
#define MPI_ANY_SOURCE (-1)
#define MPI_PROC_NULL (-2)
#define MPI_CANCEL_SOURCE (-3) /* MPI_SOURCE of a request that was cancelled */
#define MPI_ANY_TAG (-1)
#define MPI_UNDEFINED (-32766)
#define MPI_CART 1
#define MPI_GRAPH 2
#define MPI_MAX_OBJECT_NAME 64
#define MPI_STATUS_IGNORE ((MPI_Status*)0)

#define MPI_REQUEST_NULL ((MPI_Request)0)
#define MPI_GROUP_NULL ((MPI_Group)0)
#define MPI_COMM_NULL ((MPI_Comm)0)
#define MPI_INFO_NULL ((MPI_Info)0)

/* Error classes that a module returns. */
#define MPI_ERR_COMM 5
#define MPI_ERR_RANK 6
#define MPI_ERR_REQUEST 7
#define MPI_ERR_ARG 13
#define MPI_ERR_UNKNOWN 14
#define MPI_ERR_TRUNCATE 15
#define MPI_ERR_OTHER 16
#define MPI_ERR_INTERN 17
#define MPI_ERR_SYSRESOURCE 20
#define MPI_ERR_LOCALDEAD 21
#define MPI_ERR_REMOTEDEAD 22
#define MPI_ERR_NO_MEM 35
#define MPI_ERR_BASE 36

/* Thread levels, for lsr_query. */
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_FUNNELED 1
#define MPI_THREAD_SERIALIZED 2
#define MPI_THREAD_MULTIPLE 3

#endif

#endif
