/* SPDX-License-Identifier: Apache-2.0
 *
 * lapi.h - LAPI, one-sided communication between the tasks of a job, as openlapi offers it.
 *
 * Plain C (C11) and C++; from C89 and C++98 on with the extensions of gcc and clang. "Chapter", "table" and "appendix"
 * below are those of the LAPI Programming Guide. Where it spells a name in two ways (hndlr/hdlr, lext/ltext, ...) both
 * are here and mean the same.
 *
 * Contents: 1 version, 2 basic types and limits, 3 return codes, 4 queries, 5 counters and progress, 6 handlers,
 * 7 initialization, 8 read-modify-write, 9 vectors, 10 data gather/scatter programs, 11 types of LAPI_Xfer,
 * 12 types of LAPI_Util, 13 functions.
 */
#ifndef LAPI_H
#define LAPI_H

#include <errno.h>
#include <limits.h>
#include <netinet/in.h> /* in_addr_t, in_port_t */
#include <pthread.h>
#include <stddef.h>
#include <strings.h> /* bzero(), with which programs clear lapi_info_t */
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

/* C89 and C++98 have no long long; compilers have it in them too, and complain when they are pedantic. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"

/* Gives 64-bit fields one place in 32-bit and 64-bit tasks and in Fortran's derived types. */
#define LAPI_ALIGN_8 __attribute__((aligned(8)))

#define LAPI_PUBLIC __attribute__((visibility("default")))

/* ---- 1 Version ---------------------------------------------------------------------------------------------------*/

#define OPENLAPI_VERSION_MAJOR 0
#define OPENLAPI_VERSION_MINOR 2
#define OPENLAPI_VERSION_PATCH 0
#define OPENLAPI_VERSION "0.2.0"
/* For comparisons: #if OPENLAPI_VERSION_NUMBER >= 200 (0.2.0) */
#define OPENLAPI_VERSION_NUMBER (OPENLAPI_VERSION_MAJOR * 10000 + OPENLAPI_VERSION_MINOR * 100 + OPENLAPI_VERSION_PATCH)

/* ---- 2 Basic types and limits (appendices E and F) ---------------------------------------------------------------*/

/* The C library hides its own definitions of these two under -std=c11; where it shows them they are the same. */
typedef unsigned int uint;
typedef unsigned long ulong;

typedef unsigned int lapi_handle_t;     /* identifies a context of this task; its value has no other meaning */
typedef unsigned long long lapi_long_t; /* 64 bits in every task: an address of a 32-bit or 64-bit task, or a length */
typedef ulong lapi_msglen_t;            /* a message length in bytes */

#ifndef TRUE
#define TRUE 1
#endif
#ifndef FALSE
#define FALSE 0
#endif

#define LAPI_ADDR_NULL NULL
#define LAPI_NULL_THREAD_ID ((pthread_t)0) /* lapi_mutex_getowner_t: nobody holds the lock */

/* Longest message, in bytes. */
#if ULONG_MAX > 0xffffffffUL
#define LAPI_MAX_MSG_SZ 0x7fffffffffffffffLL
#else
#define LAPI_MAX_MSG_SZ 0x7fffffff
#endif

#define LAPI_MAX_ERR_STRING 160 /* bytes that a buffer for LAPI_Msg_string needs at most, with the final zero */
/* Only for programs that define LAPI_SIZE_LIMITS first: others have variables of these names. */
#ifdef LAPI_SIZE_LIMITS
#define MAX_NODES 2048
#define MAX_TASKS 16384
#define MAX_SHM_TASKS 128      /* the guide's number; here 1,024 tasks of a node share memory */
#define MAX_SLOTS_PER_TASK 128 /* shared memory slots */
#endif

/* ---- 3 Return codes (appendix C, tables 33-36) -------------------------------------------------------------------
 * Calls return LAPI_SUCCESS, a code from 400 on, or an errno value where the operating system refused something.
 * LAPI_Msg_string has a text for each. */

#define LAPI_SUCCESS 0

#define LAPI_ERR_UNKNOWN 400
#define LAPI_ERR_ALL_HNDL_IN_USE 401
#define LAPI_ERR_BOTH_NETSTR_SET 402
#define LAPI_ERR_CSS_LOAD_FAILED 404
#define LAPI_ERR_INFO_NULL 405
#define LAPI_ERR_MSG_API 406
#define LAPI_ERR_NO_NETSTR_SET 407
#define LAPI_ERR_NO_UDP_HNDLR 408
#define LAPI_ERR_HDR_HNDLR_NULL 409
#define LAPI_ERR_PSS_NON_ROOT 410
#define LAPI_ERR_SHM_KE_NOT_LOADED 412
#define LAPI_ERR_TIMEOUT 413
#define LAPI_ERR_REG_TIMER 414
#define LAPI_ERR_UDP_PKT_SZ 415
#define LAPI_ERR_USER_UDP_HNDLR_FAIL 416
#define LAPI_ERR_HNDL_INVALID 417
#define LAPI_ERR_RET_PTR_NULL 418
#define LAPI_ERR_ADDR_HNDL_RANGE 419
#define LAPI_ERR_ADDR_TBL_NULL 420
#define LAPI_ERR_TGT_PURGED 421
#define LAPI_ERR_MULTIPLE_WAITERS 422
#define LAPI_ERR_MEMORY_EXHAUSTED 423
#define LAPI_ERR_INFO_NONZERO 424
#define LAPI_ERR_INFO_NONZERO_INFO LAPI_ERR_INFO_NONZERO
#define LAPI_ERR_ORG_ADDR_NULL 425
#define LAPI_ERR_TGT_ADDR_NULL 426
#define LAPI_ERR_DATA_LEN 427
#define LAPI_ERR_TGT 428
#define LAPI_ERR_UHDR_NULL 429
#define LAPI_ERR_UHDR_LEN 430
#define LAPI_ERR_HDR_LEN 431
#define LAPI_ERR_ORG_EXTENT 432
#define LAPI_ERR_ORG_STRIDE 433
#define LAPI_ERR_NO_CONNECTIVITY 434
#define LAPI_ERR_ADAPTERS_DOWN 435
#define LAPI_ERR_RECV_INCOMP 436
#define LAPI_ERR_SEND_INCOMP 437
#define LAPI_ERR_SEND_TIMEOUT 438
#define LAPI_ERR_SHM_SETUP 439
#define LAPI_ERR_ORG_VEC_ADDR 440
#define LAPI_ERR_ORG_VEC_LEN 441
#define LAPI_ERR_ORG_VEC_NULL 442
#define LAPI_ERR_ORG_VEC_TYPE 443
#define LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL 444
#define LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL 445
#define LAPI_ERR_TGT_EXTENT 446
#define LAPI_ERR_TGT_STRIDE 447
#define LAPI_ERR_TGT_VEC_ADDR 448
#define LAPI_ERR_TGT_VEC_LEN 449
#define LAPI_ERR_TGT_VEC_NULL 451
#define LAPI_ERR_TGT_VEC_TYPE 452
#define LAPI_ERR_VEC_NUM_DIFF 453
#define LAPI_ERR_VEC_TYPE_DIFF 454
#define LAPI_ERR_VEC_LEN_DIFF 455
#define LAPI_ERR_MSG_INFO_NULL 456
#define LAPI_ERR_CNTR_NULL 458
#define LAPI_ERR_CNTR_VAL 459
#define LAPI_ERR_QUERY_TYPE 460
#define LAPI_ERR_IN_VAL_NULL 461
#define LAPI_ERR_RMW_OP 462
#define LAPI_ERR_TGT_VAR_NULL 463
#define LAPI_ERR_SET_VAL 464
#define LAPI_ERR_DGSP 465
#define LAPI_ERR_DGSP_ATOM 466
#define LAPI_ERR_DGSP_BRANCH 467
#define LAPI_ERR_DGSP_CTL 468
#define LAPI_ERR_DGSP_COPY_SZ 469
#define LAPI_ERR_DGSP_FREE 470
#define LAPI_ERR_DGSP_OPC 471
#define LAPI_ERR_DGSP_REPS 472
#define LAPI_ERR_DGSP_STACK 473
#define LAPI_ERR_OP_SZ 474
#define LAPI_ERR_UDP_PORT_INFO 475
#define LAPI_ERR_XFER_CMD 476
#define LAPI_ERR_UTIL_CMD 477
#define LAPI_ERR_CATALOG_FAIL 478
#define LAPI_ERR_PACK_SZ 479
#define LAPI_ERR_DGSP_OTHER 480
#define LAPI_ERR_UDP_SOCKET 481
#define LAPI_ERR_COLLECTIVE_PSS 482
#define LAPI_ERR_TGT_CONTEXT 492
#define LAPI_ERR_SRC_CONTEXT 493
#define LAPI_ERR_TGT_BUFHNDL 494
#define LAPI_ERR_SRC_BUFHNDL 495
#define LAPI_ERR_TGT_OFFSET 496
#define LAPI_ERR_SRC_OFFSET 497
#define LAPI_ERR_NO_RDMA_RESOURCE 498
#define LAPI_ERR_NO_ENV_VAR 510
#define LAPI_ERR_CODE_UNKNOWN 511

/* Numbers of attention messages: printed to stderr as MP_INFOLEVEL allows, never returned. */
#define LAPI_ATTENTION_FAILOVER_INTERNAL 485
#define LAPI_ATTENTION_FAILOVER_NO_NAM 486
#define LAPI_ATTENTION_FAILOVER_NO_GROUP_SERVICES 487
#define LAPI_ATTENTION_FAILOVER_OLD_POE 488
#define LAPI_ATTENTION_FAILOVER_NO_POE 489
#define LAPI_ATTENTION_FAILOVER_OTHER_DEVICE 490
#define LAPI_ATTENTION_FAILOVER_HALTED 491
#define LAPI_ATTENTION_BULK_ENABLED 499
#define LAPI_ATTENTION_TIMEOUT 500
#define LAPI_ATTENTION_VERSION 501
#define LAPI_ATTENTION_SHM_INIT_FAILED 502
#define LAPI_ATTENTION_SHM_RESTART_FAILED 503
#define LAPI_ATTENTION_SHM_ONE_TASK 504
#define LAPI_ATTENTION_SHM_CREATE_FAILED 505
#define LAPI_ATTENTION_SHM_GET_FAILED 506
#define LAPI_ATTENTION_SHM_ATTACH_FAILED 507
#define LAPI_ATTENTION_SHM_RESERVE_FAILED 508
#define LAPI_ATTENTION_INITIAL_PORT 509

/* ---- 4 Queries of LAPI_Qenv and LAPI_Senv (chapter 18, appendix D) -----------------------------------------------*/

typedef enum {
  TASK_ID = 0,                      /* number of this task in the job, from 0 */
  NUM_TASKS = 1,                    /* number of tasks in the job */
  MAX_UHDR_SZ = 2,                  /* longest user header, bytes */
  MAX_DATA_SZ = 3,                  /* deprecated: use LAPI_MAX_MSG_SZ */
  ERROR_CHK = 4,                    /* set: check arguments (1) or not (0, the default) */
  TIMEOUT = 5,                      /* set: seconds without an answer after which a task counts as lost; default 900 */
  MIN_TIMEOUT = 6,                  /* smallest TIMEOUT, seconds (10) */
  MAX_TIMEOUT = 7,                  /* largest TIMEOUT, seconds (86400) */
  INTERRUPT_SET = 8,                /* set: interrupt mode (1, the default) or polling mode (0) */
  MAX_PORTS = 9,                    /* contexts that a task can have (16) */
  MAX_PKT_SZ = 10,                  /* user header and data in one packet, bytes */
  NUM_REX_BUFS = 11,                /* MP_REXMIT_BUF_CNT */
  REX_BUF_SZ = 12,                  /* MP_REXMIT_BUF_SIZE, bytes */
  LOC_ADDRTBL_SZ = 13,              /* LAPI_Addr_set takes indices from 1 to one less than this */
  EPOCH_NUM = 14,                   /* no longer used */
  USE_THRESH = 15,                  /* no longer used */
  RCV_FIFO_SIZE = 16,               /* no longer used */
  MAX_ATOM_SIZE = 17,               /* largest atom of a data gather/scatter program, bytes */
  BUF_CP_SIZE = 18,                 /* messages up to this size are copied before a call returns, bytes */
  MAX_PKTS_OUT = 19,                /* packets in flight towards one task */
  ACK_THRESHOLD = 20,               /* set: packets received before they are acknowledged, 1 to 31; default 30 */
  QUERY_SHM_ENABLED = 21,           /* 1: this context uses shared memory */
  QUERY_SHM_NUM_TASKS = 22,         /* tasks of this node that use shared memory, with this one */
  QUERY_SHM_TASKS = 23,             /* int[NUM_TASKS]: each task's shared memory number, or -1 */
  QUERY_STATISTICS = 24,            /* lapi_statistics_t: what went over the network */
  PRINT_STATISTICS = 25,            /* prints all three statistics to standard output */
  QUERY_SHM_STATISTICS = 26,        /* lapi_statistics_t: what went through shared memory */
  QUERY_LOCAL_SEND_STATISTICS = 27, /* lapi_statistics_t: what this task sent to itself */
  BULK_XFER = 28,                   /* 1: MP_USE_BULK_XFER is yes; concerns RDMA only */
  BULK_MIN_MSG_SIZE = 29,           /* MP_BULK_MIN_MSG_SIZE, bytes */
  LAST_QUERY = 30                   /* the number of queries; not a query */
} lapi_query_t;

typedef struct {
  LAPI_ALIGN_8 lapi_long_t Tot_dup_pkt_cnt; /* packets that came twice */
  lapi_long_t Tot_retrans_pkt_cnt;          /* packets sent again; shared memory: attachments that failed */
  lapi_long_t Tot_gho_pkt_cnt;              /* packets of nobody's, or of a task's former life */
  lapi_long_t Tot_pkt_sent_cnt;
  __extension__ union {
    lapi_long_t Tot_pkt_rcv_cnt;
    lapi_long_t Tot_pkt_recv_cnt;
  };
  lapi_long_t Tot_data_sent; /* bytes of user data */
  __extension__ union {
    lapi_long_t Tot_data_rcv;
    lapi_long_t Tot_data_recv;
  };
} lapi_statistics_t;

/* ---- 5 Counters and progress (chapters 6 and 19) -----------------------------------------------------------------*/

/* A counter. All bytes zero: value 0. The library changes `cntr` atomically, other threads included; transfers touch
 * no other field. Read and write it with LAPI_Getcntr, LAPI_Setcntr and LAPI_Waitcntr only. */
typedef struct {
  int cntr;
  int num_dest;                         /* LAPI_Setcntr_wstatus: length of the two arrays */
  LAPI_ALIGN_8 lapi_long_t dest_list;   /* LAPI_Setcntr_wstatus: address of the array of task numbers */
  LAPI_ALIGN_8 lapi_long_t dest_status; /* LAPI_Setcntr_wstatus: address of the array of LAPI_MSG_x values */
  LAPI_ALIGN_8 lapi_long_t reserve;
} lapi_cntr_t;

/* Values of the status array of LAPI_Setcntr_wstatus. */
enum {
  LAPI_MSG_INITIAL = 0,     /* nothing received from the task */
  LAPI_MSG_RECVD = 1,       /* received */
  LAPI_MSG_PURGED = 2,      /* purged before anything was received */
  LAPI_MSG_PURGED_RCVD = 3, /* received, then purged */
  LAPI_MSG_INVALID = 4      /* the task was purged already when the counter was set */
};

/* What LAPI_Msgpoll saw: bits of lapi_msg_state_t. When both kinds completed, all three COMPLETE bits are set. */
enum {
  LAPI_DISP_CNTR = 0x1,     /* nothing completed within the allowed number of loops */
  LAPI_SEND_COMPLETE = 0x2, /* a message was sent: its origin buffer is free */
  LAPI_RECV_COMPLETE = 0x4, /* a message was received */
  LAPI_BOTH_COMPLETE = 0x8, /* both of these */
  LAPI_POLLING_NET = 0x10   /* when the call began another thread was polling this handle; besides the others */
};
typedef uint lapi_msg_state_t;

typedef struct {
  lapi_msg_state_t status;
  ulong reserve[10];
} lapi_msg_info_t;

/* ---- 6 Handlers (chapters 6, 7 and 11) ---------------------------------------------------------------------------*/

typedef struct lapi_dgsp_descr lapi_dgsp_descr_t; /* section 10 */

/* A registered data gather/scatter program. It points to the library's copy of the descriptor: read only. */
typedef lapi_dgsp_descr_t* lapi_dg_handle_t;
typedef lapi_dg_handle_t lapi_dgsp_handle_t;

/* How the completion handler runs. */
typedef enum {
  LAPI_NORMAL = 0,      /* in a completion-handler thread; it may call LAPI and block */
  LAPI_LOCAL_STATE = 1, /* at once in the thread that received; it does not call LAPI */
  LAPI_SEND_REPLY = 2   /* at once when a reply could be sent without waiting, else as LAPI_NORMAL; no blocking calls */
} lapi_ret_flags_t;

/* What becomes of the message. */
typedef enum {
  LAPI_DELIVER_MSG = 0, /* its data is copied to the buffer that the header handler returned */
  LAPI_BURY_MSG = 1,    /* its data is thrown away; counters and completion handler as usual */
  LAPI_DROP_PKT = 2     /* as if it had not come: the header handler is called again when it comes again */
} lapi_ctl_flags_t;

/* The enhanced header-handler interface: what the argument `msg_len` of a header handler really points to. */
typedef struct {
  ulong msg_len;                /* in: bytes of user data in the message */
  int MAGIC;                    /* in: marks the structure; not to be changed */
  lapi_ret_flags_t ret_flags;   /* out */
  lapi_ctl_flags_t ctl_flags;   /* out */
  lapi_dg_handle_t dgsp_handle; /* out: scatter the data with this program; NULL: it is contiguous */
  ulong bytes;                  /* out: with dgsp_handle, how many bytes to deliver; at first the message's length */
  int src;                      /* in: the task that sent it */
  void* udata_one_pkt_ptr;      /* in: all of the data, if it came in one packet, else NULL; the handler's only */
} lapi_return_info_t;
typedef lapi_return_info_t lapi_return_info;

/* Completion handler: the message's data is in place. `completion_param` is what the header handler left in `uinfo`. */
typedef void(compl_hndlr_t)(lapi_handle_t* hndl, void* completion_param);
typedef compl_hndlr_t compl_hdlr_t;

/* Header handler: runs in the target when a message's first packet arrives, in the thread that received it. Returns
 * where the data goes; NULL: nowhere. It may change *comp_h (completion handler, NULL: none) and *uinfo (its argument),
 * and the out fields of *(lapi_return_info_t*)msg_len. It may not call LAPI functions that communicate or wait, on any
 * handle: they return EDEADLK. Everything its arguments point to is valid until it returns. */
typedef void*(hdr_hndlr_t)(lapi_handle_t* hndl, void* uhdr, uint* uhdr_len, ulong* msg_len, compl_hndlr_t** comp_h,
                           void** uinfo);
typedef hdr_hndlr_t hdr_hdlr_t;

/* What a send completion handler is told. */
typedef struct {
  uint src;    /* the target task */
  uint reason; /* LAPI_SUCCESS, or the code of the fault that ended the message */
  ulong reserve[6];
} lapi_sh_info_t;

/* Send completion handler: the origin buffers of a transfer (LAPI_Xfer) may be changed; `completion_param` is the
 * transfer's `sinfo`. Runs once for every transfer that began, after the origin counter has moved: inside the call that
 * began the transfer or in the thread that makes progress, with the context's lock held. It may begin transfers; calls
 * that wait return EDEADLK. info->reason is LAPI_SUCCESS, or why the message was given up: then its target was lost and
 * the origin counter stays. *info is valid until it returns. */
typedef void(scompl_hndlr_t)(lapi_handle_t* hndl, void* completion_param, lapi_sh_info_t* info);
typedef scompl_hndlr_t scompl_hdlr_t;

/* What kind of thing went wrong (error handlers). */
typedef enum {
  LAPI_INTERNAL_ERROR = 0,      /* in the library or the operating system */
  LAPI_COMMUNICATION_ERROR = 1, /* another task or an adapter cannot be reached */
  LAPI_PROGRAM_ERROR = 2        /* a mistake of the program, found when a message arrived */
} lapi_err_t;

/* Error handler: an asynchronous error. `task_id` is this task, `src` the other one, or -1. When it returns, the
 * program goes on; without an error handler the task says what happened on stderr and exits with status 1. It may
 * call LAPI_Term and exit(). */
typedef void (*LAPI_err_hndlr)(lapi_handle_t* hndl, int* error_code, lapi_err_t* err_type, int* task_id, int* src);
typedef LAPI_err_hndlr LAPI_err_hdlr;

/* ---- 7 Initialization (chapters 5, 16 and 18) --------------------------------------------------------------------*/

/* The transport for tasks of other nodes, as LAPI_Init found it. */
typedef enum {
  LAPI_DEV_NONE = 0,
  LAPI_DEV_UDP = 1,   /* IP mode */
  LAPI_DEV_SHM = 2,   /* shared memory only */
  LAPI_DEV_VERBS = 3, /* user space, RDMA device */
  LAPI_DEV_DPDK = 4   /* user space, Ethernet device */
} lapi_dev_t;

typedef enum {
  L1_LIB = 0,  /* basic functions; the default */
  L2_LIB = 1,  /* counters are structures: LAPI_Nopoll_wait, LAPI_Setcntr_wstatus */
  LAST_LIB = 2 /* everything; for new programs */
} lapi_lib_t;

/* Where a task receives UDP. */
typedef struct {
  unsigned ip_addr; /* network byte order, as inet_addr() gives it */
  unsigned port_no; /* host byte order, 1 to 65535 */
} lapi_udp_t;

/* What a UDP handler is told. */
typedef struct {
  uint task_id;     /* this task */
  uint num_tasks;   /* entries of the address list */
  uint instance_no; /* which of the context's adapters, from 0 */
} lapi_udpinfo_t;

/* UDP handler (standalone systems): fills `addr_list`, which the library owns, with every task's address. Called by
 * LAPI_Init before it opens the sockets, once for each adapter. `local_addr`: this task's adapter address, port 0.
 * Anything but 0 makes LAPI_Init fail with LAPI_ERR_USER_UDP_HNDLR_FAIL. */
typedef int(udp_init_hndlr)(lapi_handle_t* hndl, lapi_udp_t* local_addr, lapi_udp_t* addr_list, lapi_udpinfo_t* info);
typedef udp_init_hndlr udp_init_hdlr;

/* UDP addresses on standalone systems: a handler, or a list. With both, the list is ignored. */
typedef struct {
  __extension__ union {
    udp_init_hndlr* udp_hndlr;
    udp_init_hndlr* udp_hdlr;
  };
  lapi_udp_t* add_udp_addrs; /* by task, of its first adapter, or of each in turn; read during LAPI_Init only */
  int num_udp_addr;          /* entries; 0: as many as MP_PROCS */
} lapi_extend_t;

/* How the library starts its threads. Null fields: nothing special. */
typedef struct {
  pthread_attr_t* attr;         /* passed to pthread_create(); read during LAPI_Init only */
  void (*init_func)(void* arg); /* called by each thread before anything else */
  void* init_arg;               /* its argument */
} com_thread_info_t;

/* Clear it with bzero() or memset() and set what is wanted. */
typedef struct {
  lapi_dev_t protocol;  /* out */
  lapi_lib_t lib_vers;  /* in */
  uint epoch_num;       /* ignored */
  __extension__ union { /* in: completion-handler threads; 0 means 1 */
    int num_compl_hndlr_thr;
    int num_compl_hdlr_thr;
  };
  uint instance_no;     /* in: 1 to 16: contexts of the same number belong together; 0: a free one. Out: which it is */
  int info6;            /* must be 0 */
  __extension__ union { /* in: NULL: none */
    LAPI_err_hndlr err_hndlr;
    LAPI_err_hdlr err_hdlr;
  };
  com_thread_info_t* lapi_thread_attr; /* in: NULL: nothing special */
  void* adapter_name;                  /* in: a string: use this adapter; NULL: any */
  lapi_extend_t* add_info;             /* in: UDP addresses on standalone systems; else NULL */
} lapi_info_t;

/* ---- 8 Read-modify-write (chapter 18) ----------------------------------------------------------------------------*/

typedef enum { COMPARE_AND_SWAP = 0, FETCH_AND_ADD = 1, FETCH_AND_OR = 2, SWAP = 3 } RMW_ops_t;
typedef RMW_ops_t Rmw_ops_t;

/* ---- 9 Vectors (chapter 6) ---------------------------------------------------------------------------------------*/

typedef enum {
  LAPI_GEN_GENERIC = 0,     /* lists of buffers; the two sides may differ */
  LAPI_GEN_IOVECTOR = 1,    /* lists of buffers, of the same number and lengths on both sides */
  LAPI_GEN_STRIDED_XFER = 2 /* num_vecs blocks; info: base address, block size, stride */
} lapi_vectype_t;

typedef struct {
  lapi_vectype_t vec_type;
  uint num_vecs;
  void** info; /* addresses */
  ulong* len;  /* bytes */
} lapi_vec_t;

/* The same for tasks of other word size. */
typedef struct {
  lapi_vectype_t vec_type;
  uint num_vecs;
  lapi_long_t* info;
  lapi_long_t* len;
} lapi_lvec_t;

/* Header handler of a vector message. `len_vec` points to a lapi_return_info_t, as in hdr_hndlr_t. */
typedef lapi_vec_t*(vhdr_hndlr_t)(lapi_handle_t* hndl, void* uhdr, uint* uhdr_len, ulong* len_vec,
                                  compl_hndlr_t** comp_h, void** uinfo);
typedef vhdr_hndlr_t vhdr_hdlr_t;

/* ---- 10 Data gather/scatter programs (chapter 6) -----------------------------------------------------------------*/

/* A program says where in memory a message's data lies. It is an array of integers: the structures below, one behind
 * the other, counted in ints. It is a template that is laid over a buffer: one application stands for `size` bytes, the
 * next lies `extent` bytes further on, as often as the message needs, the last one in part. The main routine begins at
 * the first integer. Every routine ends with ITERATE. */

/* How the data of an application lies. */
typedef enum {
  LAPI_DGSM_SPARSE = 0, /* with gaps, or not in order */
  LAPI_DGSM_CONTIG = 1, /* in one piece, but not joined to that of the next application */
  LAPI_DGSM_UNIT = 2    /* in one piece, and so are any number of applications */
} lapi_dgsp_density_t;

struct lapi_dgsp_descr {
  int* code;     /* the program */
  int code_size; /* its length in ints, above 0 */
  int depth;     /* nested routines at most, the main routine is one */
  lapi_dgsp_density_t density;
  long size;            /* bytes that one application stands for */
  long extent;          /* bytes from one application to the next; any sign */
  __extension__ union { /* offset of an application's leftmost byte */
    long lext;
    long ltext;
  };
  __extension__ union { /* offset just past its rightmost byte */
    long rext;
    long rtext;
  };
  int atom_size; /* packets hold whole multiples of this many bytes; 0: any. At most MAX_ATOM_SIZE. */
};

/* Opcodes, the first field of every instruction. */
enum { LAPI_DGSM_COPY = 1, LAPI_DGSM_MCOPY = 2, LAPI_DGSM_GOSUB = 3, LAPI_DGSM_ITERATE = 4, LAPI_DGSM_CONTROL = 5 };

/* A long that may lie wherever an int may. */
typedef long lapi_dgsm_long_t __attribute__((aligned(4)));

/* One block of data. Offsets of this and all other instructions are bytes from where their routine lies. */
typedef struct {
  int opcode;
  lapi_dgsm_long_t bytes; /* 0 or more */
  lapi_dgsm_long_t offset;
} lapi_dgsm_copy_t;

typedef struct {
  lapi_dgsm_long_t block_disp;
  lapi_dgsm_long_t block_len; /* 0 or more */
} lapi_dgsm_block_t;

/* Several blocks, in this order. */
typedef struct {
  int opcode;
  int count;
  lapi_dgsm_block_t block[1]; /* the other count - 1 follow */
} lapi_dgsm_mcopy_t;

/* Lays a subroutine over the buffer `reps` times: first at `offset`, then each time `stride` bytes further on. */
typedef struct {
  int opcode;
  int reps; /* 0 or more */
  lapi_dgsm_long_t offset;
  lapi_dgsm_long_t stride;
  int to_loc;  /* where the subroutine begins, in ints from this instruction's first */
  int ret_loc; /* where to go on afterwards, in the same way; normally LAPI_DGSM_GOSUB_SIZE */
} lapi_dgsm_gosub_t;

/* Ends a routine, or lets it run again. */
typedef struct {
  int opcode;
  int iter_loc; /* where this routine begins, in ints from this instruction's first; normally negative */
} lapi_dgsm_iterate_t;

/* Only where data is scattered: from here on, subroutines and further applications included, each block goes through
 * the registered ddm_func_t, which is told these two values; LAPI_DGSM_NO_CTL ends that. The sender's program has the
 * operand's size as its atom_size: a message that was sent without one (or not by LAPI_DGSP_XFER) is thrown away, and
 * the target's error handler gets LAPI_ERR_DGSP_CTL. A program with CONTROL is LAPI_DGSM_SPARSE. */
typedef struct {
  int opcode;
  int operation; /* 0 or more, or LAPI_DGSM_NO_CTL */
  int operand;
} lapi_dgsm_control_t;
#define LAPI_DGSM_NO_CTL (-1)

/* How many integers of the code each instruction takes: what to add to the index of one to get that of the next. That
 * of MCOPY is for one block; every further block takes LAPI_DGSM_MCOPY_BLOCK_SIZE more. */
#define LAPI_DGSM_INTS_OF(structure) ((int)(sizeof(structure) / sizeof(int)))
#define LAPI_DGSM_COPY_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_copy_t)
#define LAPI_DGSM_MCOPY_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_mcopy_t)
#define LAPI_DGSM_MCOPY_BLOCK_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_block_t)
#define LAPI_DGSM_GOSUB_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_gosub_t)
#define LAPI_DGSM_ITERATE_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_iterate_t)
#define LAPI_DGSM_CONTROL_SIZE LAPI_DGSM_INTS_OF(lapi_dgsm_control_t)

/* Data distribution manager function: combines `bytes` bytes that came in with the destination, as the CONTROL in force
 * says. A block that lies in two packets comes in two calls. Returns how many bytes it has processed: with fewer than
 * `bytes` (and more than 0) it is called again for the rest, any other value counts as all of them. It may run in any
 * thread that receives, as a header handler does, and calls no LAPI functions. */
typedef long(ddm_func_t)(void* in, void* inout, long bytes, int operand, int operation);

/* ---- 11 Types of LAPI_Xfer (chapter 18, tables 23-31) ------------------------------------------------------------*/

typedef enum {
  LAPI_AM_XFER = 0,
  LAPI_AMV_XFER = 1,
  LAPI_DGSP_XFER = 2,
  LAPI_GET_XFER = 3,
  LAPI_GETV_XFER = 4,
  LAPI_PUT_XFER = 5,
  LAPI_PUTV_XFER = 6,
  LAPI_RMW_XFER = 7,
  LAPI_AM_LW_XFER = 8 /* lapi_am_t whose counters and send completion handler are neither read nor used */
} lapi_xfer_type_t;

/* Bits of `flags`. The two hints concern contiguous data of at least BULK_MIN_MSG_SIZE bytes over an RDMA adapter (user
   space mode); over shared memory and UDP there is no bulk transfer. */
#define USE_TGT_VEC_TYPE 0x1       /* tgt_vec is a lapi_vec_t; without it a lapi_lvec_t */
#define BUFFER_BOTH_CONTIGUOUS 0x2 /* all data is contiguous, whatever the program says */
#define LAPI_NOT_USE_BULK_XFER 0x4 /* hint; goes before the next one */
#define LAPI_USE_BULK_XFER 0x8     /* hint */

typedef void* lapi_usr_fcall_t; /* for debugging only; not read */
typedef long lapi_status_t;     /* for future use; set to LAPI_SUCCESS */

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_AM_XFER or LAPI_AM_LW_XFER */
  int flags;
  uint tgt;
  LAPI_ALIGN_8 lapi_long_t hdr_hdl;
  uint uhdr_len;
  void* uhdr;
  void* udata;
  ulong udata_len;
  scompl_hndlr_t* shdlr;
  void* sinfo;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  lapi_cntr_t* cmpl_cntr;
} lapi_am_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_AMV_XFER */
  int flags;
  uint tgt;
  LAPI_ALIGN_8 lapi_long_t hdr_hdl;
  uint uhdr_len;
  void* uhdr;
  scompl_hndlr_t* shdlr;
  void* sinfo;
  lapi_vec_t* org_vec;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  lapi_cntr_t* cmpl_cntr;
} lapi_amv_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_DGSP_XFER */
  int flags;
  uint tgt;
  LAPI_ALIGN_8 lapi_long_t hdr_hdl;
  uint uhdr_len;
  void* uhdr;
  void* udata;
  ulong udata_len;
  scompl_hndlr_t* shdlr;
  void* sinfo;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  lapi_cntr_t* cmpl_cntr;
  lapi_dg_handle_t dgsp;
  lapi_status_t status;
} lapi_amdgsp_t;
typedef lapi_amdgsp_t lapi_am_dgsp_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_GET_XFER */
  int flags;
  uint tgt;
  LAPI_ALIGN_8 lapi_long_t tgt_addr;
  void* org_addr;
  ulong len;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  compl_hndlr_t* chndlr;
  void* cinfo;
} lapi_get_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_GETV_XFER */
  int flags;
  uint tgt;
  lapi_vec_t* org_vec;
  void* tgt_vec;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  compl_hndlr_t* chndlr;
  void* cinfo;
} lapi_getv_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_PUT_XFER */
  int flags;
  uint tgt;
  LAPI_ALIGN_8 lapi_long_t tgt_addr;
  void* org_addr;
  ulong len;
  scompl_hndlr_t* shdlr;
  void* sinfo;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  lapi_cntr_t* cmpl_cntr;
} lapi_put_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_PUTV_XFER */
  int flags;
  uint tgt;
  scompl_hndlr_t* shdlr;
  void* sinfo;
  lapi_vec_t* org_vec;
  void* tgt_vec;
  LAPI_ALIGN_8 lapi_long_t tgt_cntr;
  lapi_cntr_t* org_cntr;
  lapi_cntr_t* cmpl_cntr;
} lapi_putv_t;

typedef struct {
  lapi_xfer_type_t Xfer_type; /* LAPI_RMW_XFER */
  Rmw_ops_t op;
  uint tgt;
  uint size; /* bits: 32 or 64 */
  LAPI_ALIGN_8 lapi_long_t tgt_var;
  void* in_val;
  void* prev_tgt_val;
  lapi_cntr_t* org_cntr;
  scompl_hndlr_t* shdlr;
  void* sinfo;
} lapi_rmw_t;

typedef union {
  lapi_xfer_type_t Xfer_type;
  lapi_get_t Get;
  lapi_am_t Am;
  lapi_rmw_t Rmw;
  lapi_put_t Put;
  lapi_getv_t Getv;
  lapi_putv_t Putv;
  lapi_amv_t Amv;
  lapi_amdgsp_t Dgsp;
} lapi_xfer_t;

/* ---- 12 Types of LAPI_Util (chapter 18, tables 14-22) ------------------------------------------------------------*/

typedef enum {
  LAPI_REGISTER_DGSP = 0,
  LAPI_UNRESERVE_DGSP = 1,
  LAPI_RESERVE_DGSP = 2,
  LAPI_REG_DDM_FUNC = 3,
  LAPI_ADD_UDP_DEST_PORT = 4,
  LAPI_DGSP_PACK = 5,
  LAPI_DGSP_UNPACK = 6,
  LAPI_GET_THREAD_FUNC = 7
} lapi_util_type_t;

typedef struct {
  lapi_util_type_t Util_type;   /* LAPI_REGISTER_DGSP */
  lapi_dgsp_descr_t* idgsp;     /* copied with its code */
  lapi_dg_handle_t dgsp_handle; /* out */
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_reg_dgsp_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_RESERVE_DGSP */
  lapi_dg_handle_t dgsp_handle;
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_resv_dgsp_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_UNRESERVE_DGSP */
  lapi_dg_handle_t dgsp_handle;
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_dref_dgsp_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_REG_DDM_FUNC */
  ddm_func_t* ddm_func;       /* NULL: none */
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_reg_ddm_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_DGSP_PACK */
  lapi_dg_handle_t dgsp_handle;
  void* in_buf;   /* where the program lies; NULL: its offsets are addresses */
  ulong bytes;    /* how many to gather */
  void* out_buf;  /* the pack buffer */
  ulong out_size; /* its size in bytes */
  ulong position; /* in and out: where in out_buf */
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_pack_dgsp_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_DGSP_UNPACK */
  lapi_dg_handle_t dgsp_handle;
  void* buf;      /* the packed data */
  ulong in_size;  /* its size in bytes */
  void* out_buf;  /* where the program lies; NULL: its offsets are addresses */
  ulong bytes;    /* how many to scatter */
  ulong out_size; /* size of out_buf in bytes, at least `bytes` */
  ulong position; /* in and out: where in buf */
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_unpack_dgsp_t;

typedef struct {
  lapi_util_type_t Util_type; /* LAPI_ADD_UDP_DEST_PORT */
  uint tgt;
  lapi_udp_t* udp_port;
  uint instance_no; /* from 0 */
  lapi_usr_fcall_t in_usr_func;
  lapi_status_t status;
} lapi_add_udp_port_t;

/* A condition variable of the shared lock; prepared with lapi_cond_init_t, never copied. */
typedef struct {
  LAPI_ALIGN_8 lapi_long_t reserve[8];
} lapi_cond_t;

/* Lock sharing (chapter 12): the lock of a context, which every call on it takes, protects data of the program, too.
 * - A thread that holds it may make every call on the context but LAPI_Term; such calls take no lock, and the thread
 *   holds it when they return. Calls that wait or make progress (LAPI_Probe included) may give it to other threads
 *   meanwhile, and so may a call that has to wait for room; no call lets go of it in the middle of a handler. While it
 *   is held and no such call is made, nobody else makes progress: whoever holds it for long calls LAPI_Probe now and
 * then.
 * - Header handlers, inline completion handlers and send completion handlers run with it held: by the thread that runs
 *   them. They neither lock nor unlock it. Completion handlers in their own threads and the error handler run without
 *   it and may lock it.
 * - LAPI_Init and LAPI_Term return EDEADLK in a thread that holds the lock of any context.
 * The functions are for any thread. They return 0 or an errno value; all of them EINVAL for a handle that is not valid,
 * all with `cond` EINVAL when it is NULL and, but for cond_init, when it is not initialized. Not after LAPI_Term. */

/* Locks; blocks while another thread holds the lock. EDEADLK: the calling thread holds it already, or is in a handler
 * that runs with this or another context's lock held. */
typedef int (*lapi_mutex_lock_t)(lapi_handle_t hndl);
/* Unlocks. EPERM: the calling thread does not hold the lock, or is in a handler that runs with it held. */
typedef int (*lapi_mutex_unlock_t)(lapi_handle_t hndl);
/* Locks if nobody, the calling thread included, holds the lock, else EBUSY. */
typedef int (*lapi_mutex_trylock_t)(lapi_handle_t hndl);
/* Who holds the lock: *tid becomes pthread_self() of that thread, which may be one of the library's, or
 * LAPI_NULL_THREAD_ID. EINVAL: tid is NULL. */
typedef int (*lapi_mutex_getowner_t)(lapi_handle_t hndl, pthread_t* tid);
/* Unlocks, waits until the condition is signaled, and locks. Makes no progress: in polling mode another thread has to
 * call LAPI meanwhile. All threads that wait at the same time use the same handle, else EINVAL. EPERM: the calling
 * thread does not hold the lock; EDEADLK: it is in a handler that runs with it held. EINVAL, too, when the context is
 * terminated meanwhile; the lock is then not held. */
typedef int (*lapi_cond_wait_t)(lapi_handle_t hndl, lapi_cond_t* cond);
/* The same until `timeout`, a moment of CLOCK_REALTIME, then ETIMEDOUT. EINVAL: timeout is NULL, or its tv_nsec is not
 * from 0 to 999999999. */
typedef int (*lapi_cond_timedwait_t)(lapi_handle_t hndl, lapi_cond_t* cond, struct timespec* timeout);
/* Wakes the thread that has waited longest; without one it does nothing. With or without the lock, in any handler;
 * EAGAIN: in one of another context, while a thread is inside this one. */
typedef int (*lapi_cond_signal_t)(lapi_handle_t hndl, lapi_cond_t* cond);
/* Makes `cond` a condition variable that nobody waits on. */
typedef int (*lapi_cond_init_t)(lapi_handle_t hndl, lapi_cond_t* cond);
/* Ends it. EBUSY: threads wait on it. */
typedef int (*lapi_cond_destroy_t)(lapi_handle_t hndl, lapi_cond_t* cond);

/* All fields but the first: out. */
typedef struct {
  lapi_util_type_t Util_type; /* LAPI_GET_THREAD_FUNC */
  lapi_mutex_lock_t mutex_lock;
  lapi_mutex_unlock_t mutex_unlock;
  lapi_mutex_trylock_t mutex_trylock;
  lapi_mutex_getowner_t mutex_getowner;
  lapi_cond_wait_t cond_wait;
  lapi_cond_timedwait_t cond_timedwait;
  lapi_cond_signal_t cond_signal;
  lapi_cond_init_t cond_init;
  lapi_cond_destroy_t cond_destroy;
} lapi_thread_func_t;

typedef union {
  lapi_util_type_t Util_type;
  lapi_reg_dgsp_t RegDgsp;
  lapi_dref_dgsp_t DrefDgsp;
  lapi_resv_dgsp_t ResvDgsp;
  lapi_reg_ddm_t DdmFunc;
  lapi_add_udp_port_t Udp;
  lapi_pack_dgsp_t PackDgsp;
  lapi_unpack_dgsp_t UnpackDgsp;
  lapi_thread_func_t ThreadFunc;
} lapi_util_t;

/* ---- 13 Functions ------------------------------------------------------------------------------------------------
 * True of all of them:
 * - Any thread may call, several at once on one handle; a context does one call at a time. Completion handlers in their
 *   own threads may call everything. Header handlers may not call what communicates or waits, inline completion
 *   handlers and send completion handlers not what waits: such calls change nothing and return EDEADLK. These three
 *   run inside their context, which does nothing else meanwhile, and may call on another handle what they may call on
 *   their own. They never wait for that context: while a thread is inside it, calls that send are kept, in their order,
 *   with headers, lists and data that is short enough to be copied (REX_BUF_SZ), and begin when the thread comes out.
 *   What goes wrong then, the error handler hears. A context keeps at most 1,024 such calls, and takes no more from
 *   handlers of others while some 4,096 messages wait in it: then they return EAGAIN and have done nothing. So do
 *   calls of a context's own handlers when too much waits that handlers have begun: 16,384 gets and read-modify-writes,
 *   or completion counters, of one target, 524,288 of the former in all, 65,536 messages that were copied,
 *   or 32 MiB of our memory for long messages and lists of vectors.
 * - A thread may be cancelled (pthread_cancel) in LAPI_Waitcntr, LAPI_Nopoll_wait, LAPI_Fence, LAPI_Gfence,
 *   LAPI_Address_init, LAPI_Address_init64, LAPI_Probe and LAPI_Msgpoll, in the waits of lapi_thread_func_t, and where
 *   a call that sends waits for room, with either type of cancellation; one that was cancelled before ends at the
 *   beginning of the call, except of a collective one. The context is then as if the call had not been
 *   made, and the lock is as it was before it; but in a collective call that has begun, the task takes part: its
 *   context does the rest by itself, in polling mode during later calls, and the table of LAPI_Address_init stays as it
 *   was. All other calls, and handlers, are carried out as a whole. Asynchronous cancellation is for threads that are
 *   known to wait inside one of these calls: on its way into or out of a call, and in calls that do not wait, a thread
 *   may be cut short at any place, as in most functions, and the process may end.
 * - LAPI_ERR_HNDL_INVALID: the handle was not returned by LAPI_Init, or its context has been terminated. This and the
 *   ranges of attributes are always checked, other arguments only while ERROR_CHK is 1 (LAPI_Senv); without it their
 *   effect is undefined. A call that returns an error has done nothing.
 * - Vectors and programs may name memory that is not there, or that may not be written. While ERROR_CHK is 1 in the
 *   task where it is, and always for a program that was registered with LAPI_VERIFY_DGSP=yes, this is a mistake of
 *   that operation alone. A call that finds it before anything was sent returns LAPI_ERR_ORG_VEC_ADDR or, for
 *   programs, LAPI_ERR_DGSP_OTHER; with this task itself as the target also LAPI_ERR_TGT_VEC_ADDR, after some of the
 *   target's data may have been written. Found later, the task's error handler hears of it (LAPI_PROGRAM_ERROR,
 *   LAPI_ERR_ORG_VEC_ADDR, LAPI_ERR_TGT_VEC_ADDR or LAPI_ERR_DGSP_OTHER, the two tasks), the rest of the data is
 *   zeros at its target or thrown away, and counters, handlers and fences go on as usual. Nothing is written beside
 *   the pieces. What a ddm_func_t does is its own; its target was found to be writable. For this the first LAPI_Senv
 *   of ERROR_CHK, or such a registration, installs handlers for SIGSEGV and SIGBUS, which hand all other faults to
 *   those that were there before. A program that installs its own afterwards lets them call the ones it has replaced.
 *   Threads may not block the two signals.
 * - Each LAPI_x has a twin PLAPI_x that is the same function. A program or profiling library that defines its own
 *   LAPI_x calls PLAPI_x inside (chapter 9); the library itself calls neither.
 * - "Origin" is the calling task, "target" the other one, which may be the same. Counter pointers may be NULL. A
 *   counter or handler address of the target is an address in the target, usually learned with LAPI_Address_init.
 */

/* Makes a context and joins this task to the job (chapters 5, 16, 18). Blocking: waits for all tasks of the job.
 *   hndl       out: the context's handle; not NULL
 *   lapi_info  in and out: zeroed, then filled as wanted; not NULL. Read during the call only.
 * Environment variables say the rest (lapi(7)). What is wrong is also said on stderr, with the variable, its value and
 * what is allowed. May be called again after LAPI_Term.
 *   LAPI_ERR_HNDL_INVALID          hndl is NULL
 *   LAPI_ERR_INFO_NULL             lapi_info is NULL
 *   LAPI_ERR_INFO_NONZERO          info6 is not 0 (also called LAPI_ERR_INFO_NONZERO_INFO)
 *   LAPI_ERR_ALL_HNDL_IN_USE       instance_no is above 16 or in use, or all 16 are
 *   LAPI_ERR_MSG_API               MP_MSG_API does not allow LAPI, or is unset without a launcher
 *   LAPI_ERR_NO_ENV_VAR            a variable that a task without a launcher needs is not set or makes no sense
 *   LAPI_ERR_BOTH_NETSTR_SET       MP_LAPI_NETWORK and MP_LAPI_INET_ADDR are both set
 *   LAPI_ERR_NO_NETSTR_SET         MP_LAPI_NETWORK or MP_LAPI_INET_ADDR cannot be used, or the one of the mode is not
 *                                  set and there is no launcher; or no network table has these windows for this task,
 *                                  or another process has them
 *   LAPI_ERR_NO_UDP_HNDLR          IP mode, and no launcher, UDP handler or address list says where the tasks are
 *   LAPI_ERR_USER_UDP_HNDLR_FAIL   the UDP handler did not return 0
 *   LAPI_ERR_UDP_PORT_INFO         an address of the handler or list is not usable, as a port above 65535
 *   LAPI_ERR_UDP_PKT_SZ            MP_UDP_PACKET_SIZE is not from 1024 to 65536
 *   LAPI_ERR_UDP_SOCKET            a socket could not be opened or bound
 *   LAPI_ERR_CSS_LOAD_FAILED       the transport (MP_EUILIB) or adapter (adapter_name, MP_EUIDEVICE) that was asked for
 *                                  is not in this build or not here
 *   LAPI_ERR_SHM_SETUP             LAPI_USE_SHM=only, and not all tasks can share memory; or LAPI_USE_SHM or
 *                                  MP_COMMON_TASKS cannot be used
 *   LAPI_ERR_SET_VAL               another variable or field has a value that is not allowed
 *   LAPI_ERR_MEMORY_EXHAUSTED      no memory
 *   LAPI_ERR_TIMEOUT               the other tasks did not come
 *   LAPI_ERR_NO_CONNECTIVITY       a task of this node that was in an earlier context has ended
 *   LAPI_ERR_PSS_NON_ROOT          never: persistent subsystem mode is not offered
 *   LAPI_ERR_SHM_KE_NOT_LOADED     never: no kernel extension is needed
 *   LAPI_ERR_UNKNOWN               tasks have libraries of different wire versions, or something internal
 *   EDEADLK                        called from a header handler or an inline completion handler, or by a thread that
 *                                  holds a context's lock */
LAPI_PUBLIC int LAPI_Init(lapi_handle_t* hndl, lapi_info_t* lapi_info);
LAPI_PUBLIC int PLAPI_Init(lapi_handle_t* hndl, lapi_info_t* lapi_info);
/* The same as Fortran calls it (chapter 9); lapif.h is Fortran's own header. The code is in *ierror as well. */
LAPI_PUBLIC int plapi_init(lapi_handle_t* hndl, lapi_info_t* lapi_info, int* ierror);

/* Ends a context (chapters 5, 18). Blocking, for a bounded time: until the other tasks have what was sent and have
 * answered what they were asked. Threads that the context started end. Registered gather/scatter programs stay. May be
 * called from error handlers.
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   EDEADLK                 called from a header handler or an inline completion handler, or by a thread that holds a
 *                           context's lock */
LAPI_PUBLIC int LAPI_Term(lapi_handle_t hndl);
LAPI_PUBLIC int PLAPI_Term(lapi_handle_t hndl);

/* Asks for a runtime attribute or statistics (chapters 8, 18, appendix D). Not blocking. In any handler.
 *   query    one of lapi_query_t
 *   ret_val  out: an int; for the QUERY_x_STATISTICS queries a lapi_statistics_t; for QUERY_SHM_TASKS NUM_TASKS ints;
 *            PRINT_STATISTICS leaves it alone. Never NULL, and checked for every query.
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   LAPI_ERR_QUERY_TYPE     query is not a query
 *   LAPI_ERR_RET_PTR_NULL   ret_val is NULL
 *   EAGAIN                  statistics: called from a handler of another context while a thread is inside this one */
LAPI_PUBLIC int LAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val);
LAPI_PUBLIC int PLAPI_Qenv(lapi_handle_t hndl, lapi_query_t query, int* ret_val);

/* Sets a runtime attribute of this context in this task (chapter 18, appendix D). Not blocking. In any handler.
 *   query    ACK_THRESHOLD, ERROR_CHK, INTERRUPT_SET or TIMEOUT
 *   set_val  ACK_THRESHOLD: 1 to 31 packets; TIMEOUT: 10 to 86400 seconds; the others: 0 or 1
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   LAPI_ERR_QUERY_TYPE     query is none of the four
 *   LAPI_ERR_SET_VAL        set_val is out of range; the attribute keeps its value
 *   EAGAIN                  called from a handler of another context while a thread is inside this one */
LAPI_PUBLIC int LAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);
LAPI_PUBLIC int PLAPI_Senv(lapi_handle_t hndl, lapi_query_t query, int set_val);

/* Registers a header handler under an index, which active messages to this task may then carry instead of the address
 * (chapter 18). Not blocking. In any handler. A second registration replaces the first.
 *   addr       the function; NULL: forget it
 *   addr_hndl  1 to LOC_ADDRTBL_SZ - 1
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_ADDR_HNDL_RANGE   addr_hndl is out of range */
LAPI_PUBLIC int LAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl);
LAPI_PUBLIC int PLAPI_Addr_set(lapi_handle_t hndl, void* addr, int addr_hndl);

/* Returns the function that is registered under an index (chapter 18). Not blocking. In any handler.
 *   addr       out: the function, or NULL when there is none; not NULL itself
 *   addr_hndl  1 to LOC_ADDRTBL_SZ - 1
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_RET_PTR_NULL      addr is NULL
 *   LAPI_ERR_ADDR_HNDL_RANGE   addr_hndl is out of range */
LAPI_PUBLIC int LAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl);
LAPI_PUBLIC int PLAPI_Addr_get(lapi_handle_t hndl, void** addr, int addr_hndl);

/* Stores an address as a number (chapter 18; for Fortran). Not blocking. Anywhere, also before LAPI_Init.
 *   my_addr   the address; not NULL
 *   ret_addr  out: the same as an unsigned long; not NULL
 *   LAPI_ERR_ORG_ADDR_NULL   my_addr is NULL
 *   LAPI_ERR_TGT_ADDR_NULL   ret_addr is NULL */
LAPI_PUBLIC int LAPI_Address(void* my_addr, ulong* ret_addr);
LAPI_PUBLIC int PLAPI_Address(void* my_addr, ulong* ret_addr);

/* Collects one address from every task (chapter 18). Collective: all tasks of the context call their collective
 * functions in the same order. Blocking. For tasks of one word size.
 *   my_addr  this task's entry; may be NULL
 *   add_tab  out: NUM_TASKS entries, by task; not NULL
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_RET_PTR_NULL      add_tab is NULL
 *   LAPI_ERR_COLLECTIVE_PSS    never: persistent subsystem mode is not offered
 *   LAPI_ERR_NO_CONNECTIVITY   a task was lost; the error handler has been told which
 *   LAPI_ERR_TGT_PURGED        messages to a task have been purged
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]);
LAPI_PUBLIC int PLAPI_Address_init(lapi_handle_t hndl, void* my_addr, void* add_tab[]);

/* LAPI_Address_init with 64-bit entries, for tasks of any word size (chapters 11, 18). Collective, blocking.
 *   my_addr  this task's entry, any value
 *   add_tab  out: NUM_TASKS entries, by task; not NULL
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_RET_PTR_NULL      add_tab is NULL
 *   LAPI_ERR_COLLECTIVE_PSS    never: persistent subsystem mode is not offered
 *   LAPI_ERR_NO_CONNECTIVITY   a task was lost; the error handler has been told which
 *   LAPI_ERR_TGT_PURGED        messages to a task have been purged
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab);
LAPI_PUBLIC int PLAPI_Address_init64(lapi_handle_t hndl, lapi_long_t my_addr, lapi_long_t* add_tab);

/* Copies data from here to a target (chapters 6, 18). Not blocking; not from header handlers.
 *   tgt        the target, 0 to NUM_TASKS - 1
 *   len        bytes, 0 to LAPI_MAX_MSG_SZ; 0 moves nothing, the counters move all the same
 *   tgt_addr   where to, in the target; NULL only when len is 0
 *   org_addr   where from; NULL only when len is 0. Not to be changed before org_cntr moves, unless len is at most
 *              BUF_CP_SIZE: then it may be changed at once.
 *   tgt_cntr   counter in the target, plus 1 when the data is in place
 *   org_cntr   counter here, plus 1 when org_addr may be changed
 *   cmpl_cntr  counter here, plus 1 after tgt_cntr
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_DATA_LEN          len is above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_ADDR_NULL     org_addr is NULL and len is not 0
 *   LAPI_ERR_TGT_ADDR_NULL     tgt_addr is NULL and len is not 0
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
                         lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
LAPI_PUBLIC int PLAPI_Put(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
                          lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);

/* Copies data from a target to here (chapters 6, 18). Not blocking; not from header handlers.
 *   tgt       the target, which has the data, 0 to NUM_TASKS - 1
 *   len       bytes, 0 to LAPI_MAX_MSG_SZ; 0 moves nothing, the counters move all the same
 *   tgt_addr  where from, in the target; NULL only when len is 0
 *   org_addr  out: where to; NULL only when len is 0. Valid when org_cntr has moved.
 *   tgt_cntr  counter in the target, plus 1 when its data may be changed
 *   org_cntr  counter here, plus 1 when the data is here
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_DATA_LEN          len is above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_ADDR_NULL     org_addr is NULL and len is not 0
 *   LAPI_ERR_TGT_ADDR_NULL     tgt_addr is NULL and len is not 0
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr, lapi_cntr_t* tgt_cntr,
                         lapi_cntr_t* org_cntr);
LAPI_PUBLIC int PLAPI_Get(lapi_handle_t hndl, uint tgt, ulong len, void* tgt_addr, void* org_addr,
                          lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr);

/* Sends an active message: a header handler runs in the target and says where the data goes; when it is there, the
 * completion handler that the header handler named runs (chapters 7, 11, 18). Not blocking; not from header handlers.
 *   tgt        the target, 0 to NUM_TASKS - 1
 *   hdr_hdl    header handler (hdr_hndlr_t): its address in the target, or its index there (LAPI_Addr_set); not NULL
 *   uhdr       user header, handed to the header handler; NULL only when uhdr_len is 0
 *   uhdr_len   bytes, a multiple of 4, 0 to MAX_UHDR_SZ
 *   udata      the data; NULL only when udata_len is 0
 *   udata_len  bytes, 0 to LAPI_MAX_MSG_SZ. When both lengths together are at most BUF_CP_SIZE, uhdr and udata may be
 *              changed at once, else when org_cntr has moved.
 *   tgt_cntr   counter in the target, plus 1 when the completion handler has returned; without one, the data is there
 *   org_cntr   counter here, plus 1 when uhdr and udata may be changed
 *   cmpl_cntr  counter here, plus 1 after tgt_cntr
 * An index that is not registered in the target goes to the target's error handler; the message is thrown away.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_HDR_HNDLR_NULL    hdr_hdl is NULL
 *   LAPI_ERR_UHDR_NULL         uhdr is NULL and uhdr_len is not 0
 *   LAPI_ERR_UHDR_LEN          uhdr_len is above MAX_UHDR_SZ
 *   LAPI_ERR_HDR_LEN           uhdr_len is not a multiple of 4
 *   LAPI_ERR_DATA_LEN          udata_len is above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_ADDR_NULL     udata is NULL and udata_len is not 0
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, void* udata,
                            ulong udata_len, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
LAPI_PUBLIC int PLAPI_Amsend(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len, void* udata,
                             ulong udata_len, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);

/* LAPI_Put for data that is not contiguous on either side (chapters 6, 18). Not blocking; not from header handlers.
 *   tgt        the target, 0 to NUM_TASKS - 1
 *   tgt_vec    where to: LAPI_GEN_IOVECTOR or LAPI_GEN_STRIDED_XFER; described here, with addresses of the target
 *   org_vec    where from: the same type, number and lengths; only strides may differ. Pieces may be empty. The vectors
 *              and their lists may be changed at once, the data when org_cntr has moved; data of at most BUF_CP_SIZE
 *              bytes at once, too.
 *   tgt_cntr   counter in the target, plus 1 when the data is in place
 *   org_cntr   counter here, plus 1 when the data may be changed
 *   cmpl_cntr  counter here, plus 1 after tgt_cntr
 * Where pieces of the target overlap, what lies there afterwards is undefined.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_ORG_EXTENT        org_vec, strided: stride times num_vecs is above LAPI_MAX_MSG_SZ, or a block reaches
 *                              beyond the address space
 *   LAPI_ERR_ORG_STRIDE        org_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_ORG_VEC_ADDR      org_vec: an address is NULL and its length is not 0, the piece reaches beyond the
 *                              address space, or is not there, or info or len is not there
 *   LAPI_ERR_ORG_VEC_LEN       org_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_VEC_NULL      org_vec is NULL; always checked
 *   LAPI_ERR_ORG_VEC_TYPE      org_vec: no such type, or not one for this call; always checked
 *   LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL  org_vec, strided: the base address is NULL
 *   LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL  tgt_vec, strided: the base address is NULL
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_TGT_EXTENT        tgt_vec: as LAPI_ERR_ORG_EXTENT
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_TGT_STRIDE        tgt_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_TGT_VEC_ADDR      tgt_vec: as LAPI_ERR_ORG_VEC_ADDR
 *   LAPI_ERR_TGT_VEC_LEN       tgt_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_TGT_VEC_NULL      tgt_vec is NULL; always checked
 *   LAPI_ERR_TGT_VEC_TYPE      tgt_vec: no such type, or not one for this call; always checked
 *   LAPI_ERR_VEC_LEN_DIFF      the lengths of the pieces, or the sizes of the blocks, differ
 *   LAPI_ERR_VEC_NUM_DIFF      the numbers of pieces, or of blocks, differ
 *   LAPI_ERR_VEC_TYPE_DIFF     the types differ
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
                          lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
LAPI_PUBLIC int PLAPI_Putv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
                           lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);

/* LAPI_Get for data that is not contiguous on either side (chapters 6, 18). Not blocking; not from header handlers.
 *   tgt       the target, which has the data, 0 to NUM_TASKS - 1
 *   tgt_vec   where from: LAPI_GEN_IOVECTOR or LAPI_GEN_STRIDED_XFER; described here, with addresses of the target
 *   org_vec   where to: the same type, number and lengths; only strides may differ. Pieces may be empty. The vectors
 *             and their lists may be changed at once. Where pieces of org_vec overlap, what lies there afterwards is
 *             undefined.
 *   tgt_cntr  counter in the target, plus 1 when its data may be changed
 *   org_cntr  counter here, plus 1 when the data is here
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_ORG_EXTENT        org_vec, strided: stride times num_vecs is above LAPI_MAX_MSG_SZ, or a block reaches
 *                              beyond the address space
 *   LAPI_ERR_ORG_STRIDE        org_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_ORG_VEC_ADDR      org_vec: an address is NULL and its length is not 0, the piece reaches beyond the
 *                              address space, or is not there, or info or len is not there
 *   LAPI_ERR_ORG_VEC_LEN       org_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_VEC_NULL      org_vec is NULL; always checked
 *   LAPI_ERR_ORG_VEC_TYPE      org_vec: no such type, or not one for this call; always checked
 *   LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL  org_vec, strided: the base address is NULL
 *   LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL  tgt_vec, strided: the base address is NULL
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_TGT_EXTENT        tgt_vec: as LAPI_ERR_ORG_EXTENT
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_TGT_STRIDE        tgt_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_TGT_VEC_ADDR      tgt_vec: as LAPI_ERR_ORG_VEC_ADDR
 *   LAPI_ERR_TGT_VEC_LEN       tgt_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_TGT_VEC_NULL      tgt_vec is NULL; always checked
 *   LAPI_ERR_TGT_VEC_TYPE      tgt_vec: no such type, or not one for this call; always checked
 *   LAPI_ERR_VEC_LEN_DIFF      the lengths of the pieces, or the sizes of the blocks, differ
 *   LAPI_ERR_VEC_NUM_DIFF      the numbers of pieces, or of blocks, differ
 *   LAPI_ERR_VEC_TYPE_DIFF     the types differ
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr,
                          lapi_cntr_t* org_cntr);
LAPI_PUBLIC int PLAPI_Getv(lapi_handle_t hndl, uint tgt, lapi_vec_t* tgt_vec, lapi_vec_t* org_vec,
                           lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr);

/* LAPI_Amsend for data that is not contiguous on either side (chapters 6, 18): the header handler answers with a
 * vector. Not blocking; not from header handlers.
 *   tgt        the target, 0 to NUM_TASKS - 1
 *   hdr_hdl    header handler (vhdr_hndlr_t): its address in the target, or its index there (LAPI_Addr_set); not NULL
 *   uhdr       user header, handed to the header handler; NULL only when uhdr_len is 0
 *   uhdr_len   bytes, a multiple of 4, 0 to MAX_UHDR_SZ
 *   org_vec    where from, of any type; pieces may be empty. Vector, lists and user header may be changed at once, the
 *              data when org_cntr has moved; when uhdr_len and all the data together are at most BUF_CP_SIZE, the data
 *              at once, too.
 *   tgt_cntr   counter in the target, plus 1 when the completion handler has returned; without one, the data is there
 *   org_cntr   counter here, plus 1 when the data may be changed
 *   cmpl_cntr  counter here, plus 1 after tgt_cntr
 * The vector that the header handler returns has the type of org_vec and does not change before tgt_cntr has moved.
 * With LAPI_GEN_GENERIC the two may differ: as much is delivered as the shorter one has. NULL: the data is thrown away.
 * A vector whose type does not exist (while the target checks arguments: one with any mistake, or, unless the type is
 * LAPI_GEN_GENERIC, as long as the message is not) goes to the target's error handler with the code that names it, as a
 * program error; the message is thrown away.
 *   LAPI_ERR_HDR_HNDLR_NULL    hdr_hdl is NULL
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_ORG_EXTENT        org_vec, strided: stride times num_vecs is above LAPI_MAX_MSG_SZ, or a block reaches
 *                              beyond the address space
 *   LAPI_ERR_ORG_STRIDE        org_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_ORG_VEC_ADDR      org_vec: an address is NULL and its length is not 0, the piece reaches beyond the
 *                              address space, or is not there, or info or len is not there
 *   LAPI_ERR_ORG_VEC_LEN       org_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_VEC_NULL      org_vec is NULL; always checked
 *   LAPI_ERR_ORG_VEC_TYPE      org_vec: no such type, or not one for this call; always checked
 *   LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL  org_vec, strided: the base address is NULL
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_UHDR_LEN          uhdr_len is above MAX_UHDR_SZ
 *   LAPI_ERR_HDR_LEN           uhdr_len is not a multiple of 4
 *   LAPI_ERR_UHDR_NULL         uhdr is NULL and uhdr_len is not 0
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len,
                             lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr, lapi_cntr_t* cmpl_cntr);
LAPI_PUBLIC int PLAPI_Amsendv(lapi_handle_t hndl, uint tgt, void* hdr_hdl, void* uhdr, uint uhdr_len,
                              lapi_vec_t* org_vec, lapi_cntr_t* tgt_cntr, lapi_cntr_t* org_cntr,
                              lapi_cntr_t* cmpl_cntr);

/* Changes a variable of a target atomically and returns what it was (chapter 18). Not blocking; not from header
 * handlers. Atomic against the target's own atomic instructions on the variable, too.
 *   op            FETCH_AND_ADD, FETCH_AND_OR, SWAP: the variable becomes var + in, var | in, in.
 *                 COMPARE_AND_SWAP: becomes in_val[1] if it equals in_val[0].
 *   tgt           the target, 0 to NUM_TASKS - 1
 *   tgt_var       the variable, in the target, aligned as an int is; not NULL
 *   in_val        the operand, two for COMPARE_AND_SWAP; not NULL. Read before the call returns.
 *   prev_tgt_val  out: the variable before; for COMPARE_AND_SWAP TRUE when it was swapped, else FALSE. NULL: not
 *                 wanted. Valid when org_cntr has moved.
 *   org_cntr      counter here, plus 1 when prev_tgt_val is there or, without one, the variable has been changed
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_RMW_OP            op is none of the four
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_TGT_VAR_NULL      tgt_var is NULL
 *   LAPI_ERR_IN_VAL_NULL       in_val is NULL
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val, int* prev_tgt_val,
                         lapi_cntr_t* org_cntr);
LAPI_PUBLIC int PLAPI_Rmw(lapi_handle_t hndl, RMW_ops_t op, uint tgt, int* tgt_var, int* in_val, int* prev_tgt_val,
                          lapi_cntr_t* org_cntr);

/* LAPI_Rmw for 64-bit variables, in tasks of any word size (chapter 18). Not blocking; not from header handlers. All
 * arguments as there; tgt_var is aligned to 8 bytes, and prev_tgt_val of COMPARE_AND_SWAP is a 64-bit TRUE or FALSE.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_RMW_OP            op is none of the four
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_TGT_VAR_NULL      tgt_var is NULL
 *   LAPI_ERR_IN_VAL_NULL       in_val is NULL
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long* tgt_var, long long* in_val,
                           long long* prev_tgt_val, lapi_cntr_t* org_cntr);
LAPI_PUBLIC int PLAPI_Rmw64(lapi_handle_t hndl, Rmw_ops_t op, uint tgt, long long* tgt_var, long long* in_val,
                            long long* prev_tgt_val, lapi_cntr_t* org_cntr);

/* Begins the transfer that a structure describes (chapters 6, 11, 18, tables 23-31): the calls above and more, with
 * addresses of 64 bits in the target, so that 32-bit and 64-bit tasks can work together. Not blocking; not from header
 * handlers.
 *   xfer_cmd  the transfer; not NULL. Its first field, Xfer_type, says which member of the union is meant, and every
 *             field of that member has to be set. Read during the call only and not changed, but for Dgsp.status.
 *     Put (LAPI_PUT_XFER), Get (LAPI_GET_XFER), Am (LAPI_AM_XFER)  as LAPI_Put, LAPI_Get, LAPI_Amsend
 *     Rmw (LAPI_RMW_XFER)  as LAPI_Rmw when its size is 32, as LAPI_Rmw64 when it is 64
 *     Am (LAPI_AM_LW_XFER)  as LAPI_AM_XFER; counters and send completion handler are not looked at
 *     Putv (LAPI_PUTV_XFER), Getv (LAPI_GETV_XFER), Amv (LAPI_AMV_XFER)  as LAPI_Putv, LAPI_Getv, LAPI_Amsendv; tgt_vec
 *             is a lapi_lvec_t, or with the flag USE_TGT_VEC_TYPE a lapi_vec_t
 *     Dgsp (LAPI_DGSP_XFER)  as LAPI_Amsend, but the program dgsp says where the data lies: udata_len bytes, from udata
 *             on. udata may be NULL: then the offsets of the program are addresses. Packets hold whole atoms. The
 *             header handler may answer with a program (lapi_return_info_t). With BUFFER_BOTH_CONTIGUOUS, and when
 *             the program is LAPI_DGSM_UNIT, it is not run: the data lies in one piece at udata plus lext.
 * shdlr, when it is not NULL, is called with sinfo when the origin buffers may be changed, beside the origin counter
 * (scompl_hndlr_t); of an Rmw that is in_val, before the call returns. chndlr of a Get or Getv, when it is not NULL, is
 * called with cinfo in a completion-handler thread when the data is here and the origin counter has moved; it does not
 * run for a get whose target was lost.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_XFER_CMD          xfer_cmd is NULL, or Xfer_type is none of the above; always checked
 *   LAPI_ERR_TGT               tgt is not a task of the job
 *   LAPI_ERR_DATA_LEN          len or udata_len is above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_ADDR_NULL     org_addr or udata is NULL and its length is not 0
 *   LAPI_ERR_TGT_ADDR_NULL     tgt_addr is 0 and len is not 0
 *   LAPI_ERR_HDR_HNDLR_NULL    hdr_hdl is 0
 *   LAPI_ERR_UHDR_NULL         uhdr is NULL and uhdr_len is not 0
 *   LAPI_ERR_UHDR_LEN          uhdr_len is above MAX_UHDR_SZ
 *   LAPI_ERR_HDR_LEN           uhdr_len is not a multiple of 4
 *   LAPI_ERR_IN_VAL_NULL       in_val is NULL
 *   LAPI_ERR_OP_SZ             size is neither 32 nor 64
 *   LAPI_ERR_RMW_OP            op is none of the four
 *   LAPI_ERR_TGT_VAR_NULL      tgt_var is 0
 *   LAPI_ERR_ORG_EXTENT        org_vec: as LAPI_Putv
 *   LAPI_ERR_ORG_STRIDE        org_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_ORG_VEC_ADDR      org_vec: as LAPI_Putv
 *   LAPI_ERR_ORG_VEC_LEN       org_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_ORG_VEC_NULL      org_vec is NULL; always checked
 *   LAPI_ERR_ORG_VEC_TYPE      org_vec: no such type, or not one for this transfer; always checked
 *   LAPI_ERR_STRIDE_ORG_VEC_ADDR_NULL  org_vec, strided: the base address is NULL
 *   LAPI_ERR_STRIDE_TGT_VEC_ADDR_NULL  tgt_vec, strided: the base address is NULL
 *   LAPI_ERR_TGT_EXTENT        tgt_vec: as LAPI_ERR_ORG_EXTENT
 *   LAPI_ERR_TGT_STRIDE        tgt_vec, strided: the stride is smaller than the block
 *   LAPI_ERR_TGT_VEC_ADDR      tgt_vec: as LAPI_ERR_ORG_VEC_ADDR
 *   LAPI_ERR_TGT_VEC_LEN       tgt_vec: len is NULL, or its sum above LAPI_MAX_MSG_SZ
 *   LAPI_ERR_TGT_VEC_NULL      tgt_vec is NULL; always checked
 *   LAPI_ERR_TGT_VEC_TYPE      tgt_vec: no such type, or not one for this transfer; always checked
 *   LAPI_ERR_VEC_LEN_DIFF      the lengths of the pieces, or the sizes of the blocks, differ
 *   LAPI_ERR_VEC_NUM_DIFF      the numbers of pieces, or of blocks, differ
 *   LAPI_ERR_VEC_TYPE_DIFF     the types differ
 *   LAPI_ERR_DGSP              dgsp is NULL (always checked) or is not registered
 *   LAPI_ERR_DGSP_ATOM         never: found when the program is registered
 *   LAPI_ERR_DGSP_BRANCH       the program leaves its code
 *   LAPI_ERR_DGSP_COPY_SZ      the program copies a negative number of bytes
 *   LAPI_ERR_DGSP_CTL          the program has CONTROL, which is for the target only. The target's error handler gets
 *                              it when the target's program has CONTROL and the origin's an atom_size of 0
 *   LAPI_ERR_DGSP_OPC          the program has an instruction that does not exist
 *   LAPI_ERR_DGSP_OTHER        the program is wrong in another way, or names memory that is not there
 *   LAPI_ERR_DGSP_REPS         the program repeats something a negative number of times
 *   LAPI_ERR_DGSP_STACK        the program calls deeper than its depth
 *   LAPI_ERR_TGT_PURGED        messages to tgt have been purged
 *   LAPI_ERR_NO_CONNECTIVITY   there is no way to tgt
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler
 *   EAGAIN                     called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t* xfer_cmd);
LAPI_PUBLIC int PLAPI_Xfer(lapi_handle_t hndl, lapi_xfer_t* xfer_cmd);

/* Does what a structure describes (chapters 6, 12, 18, tables 14-22). Not blocking. In any handler. Arguments are
 * checked whatever ERROR_CHK is.
 *   hndl      a context; RegDgsp, ResvDgsp and DrefDgsp ignore it, also before LAPI_Init and after LAPI_Term
 *   util_cmd  what to do; not NULL. Its first field, Util_type, says which member of the union is meant.
 *     RegDgsp (LAPI_REGISTER_DGSP)    copies a program; the handle serves every context until it is unreserved. The
 *                                     handle points to the copy of the description, read only.
 *     ResvDgsp (LAPI_RESERVE_DGSP)    one LAPI_UNRESERVE_DGSP more is needed until the handle is no longer good
 *     DrefDgsp (LAPI_UNRESERVE_DGSP)  one for LAPI_REGISTER_DGSP, one for each LAPI_RESERVE_DGSP. What runs the program
 *                                     already is not disturbed.
 *     DdmFunc (LAPI_REG_DDM_FUNC)     the function for CONTROL of what arrives in this context; replaces the one before
 *     PackDgsp (LAPI_DGSP_PACK)       gathers `bytes` bytes, always from the program's beginning, into out_buf at
 *                                     position, and moves position behind them
 *     UnpackDgsp (LAPI_DGSP_UNPACK)   scatters `bytes` bytes of buf from position on, always from the program's
 *                                     beginning, and moves position behind them
 *     ThreadFunc (LAPI_GET_THREAD_FUNC)  fills in the functions that share the context's lock with the program
 *                                        (section 12); they serve every handle until its context is terminated
 * With LAPI_VERIFY_DGSP=yes LAPI_REGISTER_DGSP refuses every program that breaks a rule of section 10. Without, what is
 * asked to run a program that cannot be run reports that and leaves the memory alone; a description that does not
 * agree with its code is not noticed.
 * LAPI_ADD_UDP_DEST_PORT, Udp: task tgt is now at address and port *udp_port of the UDP adapter number instance_no,
 * from 0, at once for what is sent from then on. For tasks that were started without a launcher over UDP, to replace
 * one that has failed: between LAPI_Purge_totask and LAPI_Resume_totask.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_UTIL_CMD          util_cmd is NULL, or Util_type is none of the above; or a port is added under a
 *                              launcher or without UDP
 *   LAPI_ERR_TGT               tgt of Udp is not another task of the job
 *   LAPI_ERR_UDP_PORT_INFO     udp_port is NULL or no address of a task, or there is no such instance_no
 *   LAPI_ERR_DGSP              idgsp is NULL, or dgsp_handle is NULL or not registered
 *   LAPI_ERR_DGSP_FREE         dgsp_handle was unreserved more often than registered and reserved
 *   LAPI_ERR_DGSP_ATOM         atom_size is not from 0 to MAX_ATOM_SIZE
 *   LAPI_ERR_DGSP_OPC          an instruction that is none
 *   LAPI_ERR_DGSP_BRANCH       the program leaves its code or never ends; or an ITERATE does not lead to its routine's
 *                              beginning and more than one application is wanted, or verification
 *   LAPI_ERR_DGSP_STACK        routines nest deeper than depth, or call themselves
 *   LAPI_ERR_DGSP_COPY_SZ      a negative length of a block, or number of blocks
 *   LAPI_ERR_DGSP_REPS         a GOSUB with negative reps
 *   LAPI_ERR_DGSP_CTL          a CONTROL with a negative operation that is not LAPI_DGSM_NO_CTL; in a program that is
 *                              packed; unpacked without a ddm_func_t; or, verified, in one that is not LAPI_DGSM_SPARSE
 *   LAPI_ERR_DGSP_OTHER        code is NULL or code_size not above 0, density is none of the three, lengths have no 63
 *                              bits, or bytes are wanted of a program that has none; verified, size, lext, rext or
 *                              density do not agree with the code; packing or unpacking met memory that is not there
 *                              (section 13): position is as before
 *   LAPI_ERR_PACK_SZ           position + bytes is above out_size (pack) or in_size (unpack), or bytes above out_size
 *   LAPI_ERR_ORG_ADDR_NULL     buf of UnpackDgsp is NULL and bytes is not 0
 *   LAPI_ERR_TGT_ADDR_NULL     out_buf of PackDgsp is NULL and bytes is not 0
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EAGAIN                     called from a handler of another context while a thread is inside this one */
LAPI_PUBLIC int LAPI_Util(lapi_handle_t hndl, lapi_util_t* util_cmd);
LAPI_PUBLIC int PLAPI_Util(lapi_handle_t hndl, lapi_util_t* util_cmd);

/* Sets a counter (chapters 6, 18). Not blocking. In any handler. What arrives at the same moment may be lost: use it
 * when nothing is on its way.
 *   cntr  the counter, in this task; not NULL
 *   val   any value
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   LAPI_ERR_CNTR_NULL      cntr is NULL
 *   EAGAIN                  called from a handler, and the context has no more room for that */
LAPI_PUBLIC int LAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val);
LAPI_PUBLIC int PLAPI_Setcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val);

/* Reads a counter (chapters 6, 18). Not blocking, makes no progress. In any handler. Who sees a counter's value sees
 * the data that it counts.
 *   cntr  the counter, in this task; not NULL
 *   val   out: its value; not NULL
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   LAPI_ERR_CNTR_NULL      cntr is NULL
 *   LAPI_ERR_RET_PTR_NULL   val is NULL */
LAPI_PUBLIC int LAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val);
LAPI_PUBLIC int PLAPI_Getcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int* val);

/* Waits until a counter has reached a value, then subtracts the value (chapters 6, 15, 18). Blocking; makes progress.
 * Threads may wait at the same time, but not on the same counter. The wait also ends, and the counter keeps its value,
 * when an operation of this task that would have moved the counter was given up because its target was lost or purged,
 * had no memory left to answer a get, or is a 32-bit task that has no such memory; that is told once. Of a counter that
 * others move on their own account this task knows only what LAPI_Setcntr_wstatus has said.
 *   cntr          the counter, in this task; not NULL
 *   val           the value to reach
 *   cur_cntr_val  out: the counter after the subtraction; NULL: not wanted
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_CNTR_NULL         cntr is NULL
 *   LAPI_ERR_NO_CONNECTIVITY   a task that should have moved the counter was lost; the error handler is told which
 *   LAPI_ERR_TGT_PURGED        messages to a task that should have moved the counter were purged
 *   EFAULT                     a get or read-modify-write named memory above the 4 GiB of its target, a 32-bit task
 *   LAPI_ERR_MEMORY_EXHAUSTED  the target of a get had no memory to answer it
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val);
LAPI_PUBLIC int PLAPI_Waitcntr(lapi_handle_t hndl, lapi_cntr_t* cntr, int val, int* cur_cntr_val);

/* Makes one round of progress: takes what has arrived, sends what waits (chapters 6, 18). Not blocking. Nothing is
 * promised about what it does in one call. Needed in polling mode.
 *   LAPI_ERR_HNDL_INVALID   the handle is not valid
 *   EDEADLK                 called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Probe(lapi_handle_t hndl);
LAPI_PUBLIC int PLAPI_Probe(lapi_handle_t hndl);

/* Makes progress until a message has been sent or received, at most so many rounds (chapters 6, 18). Blocking for that
 * long. Reports what has completed since the last LAPI_Msgpoll on the handle.
 *   cnt   rounds without progress, at most
 *   info  out: status, bits of lapi_msg_state_t; not NULL
 *   LAPI_ERR_HNDL_INVALID    the handle is not valid
 *   LAPI_ERR_MSG_INFO_NULL   info is NULL
 *   EDEADLK                  called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t* info);
LAPI_PUBLIC int PLAPI_Msgpoll(lapi_handle_t hndl, uint cnt, lapi_msg_info_t* info);

/* Waits until the data of everything that this task began on the handle is in place at the targets (chapter 18). A
 * fence for data: completion handlers may still run. Blocking; makes progress.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_NO_CONNECTIVITY   a target was lost; the error handler has been told which
 *   LAPI_ERR_TGT_PURGED        messages to a target have been purged
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Fence(lapi_handle_t hndl);
LAPI_PUBLIC int PLAPI_Fence(lapi_handle_t hndl);

/* LAPI_Fence in all tasks, and a barrier (chapters 15, 18): when it returns, the data of everything that any task began
 * before it is in place. Collective, blocking; makes progress.
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_NO_CONNECTIVITY   a task was lost; the error handler has been told which
 *   LAPI_ERR_TGT_PURGED        messages to a task have been purged
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Gfence(lapi_handle_t hndl);
LAPI_PUBLIC int PLAPI_Gfence(lapi_handle_t hndl);

/* Gives up everything that is under way to and from a task (chapter 19), after connectivity to it was lost. Local:
 * that task does the same, or is started anew. Until LAPI_Resume_totask everything that would send to it and all
 * collective functions return LAPI_ERR_TGT_PURGED, what comes from it is dropped, and threads that wait for it wake.
 * Others are not disturbed. Not blocking. What is purged already stays so.
 *   dest  the task; this one: nothing happens
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_TGT               dest is not a task of the job
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Purge_totask(lapi_handle_t hndl, uint dest);
LAPI_PUBLIC int PLAPI_Purge_totask(lapi_handle_t hndl, uint dest);

/* Ends what LAPI_Purge_totask began (chapter 19): the two tasks begin anew, and nothing that was sent before arrives.
 * The other task has purged this one and resumes it as well, or was started anew. If it is at another UDP port now,
 * LAPI_Util is told first (LAPI_ADD_UDP_DEST_PORT). What was not purged stays as it is. Not blocking. A task that was
 * started anew does not take part in the collective functions of those that were there before: what they do then is
 * not defined.
 *   dest  the task; this one: nothing happens
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_TGT               dest is not a task of the job
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EDEADLK                    called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Resume_totask(lapi_handle_t hndl, uint dest);
LAPI_PUBLIC int PLAPI_Resume_totask(lapi_handle_t hndl, uint dest);

/* Sets a counter to 0 and says which tasks are to move it (chapter 19). From now on a status is kept for each of them,
 * until the counter is set again, or a wait for it has ended and no status is LAPI_MSG_INITIAL any more. So long the
 * counter and both arrays have to exist. lib_vers was L2_LIB or LAST_LIB in LAPI_Init. Not blocking.
 *   cntr         the counter, in this task; not NULL
 *   num_dest     length of the arrays
 *   dest_list    the tasks, one entry for each time that one moves the counter; NULL: no statuses are kept
 *   dest_status  out: LAPI_MSG_x of each; NULL only when dest_list is. LAPI_MSG_INVALID at once for a task that is
 *                purged, or that is none of the job
 *   LAPI_ERR_HNDL_INVALID      the handle is not valid
 *   LAPI_ERR_CNTR_NULL         cntr is NULL
 *   LAPI_ERR_RET_PTR_NULL      dest_status is NULL and dest_list is not
 *   LAPI_ERR_MEMORY_EXHAUSTED  no memory
 *   EPERM                      lib_vers was L1_LIB
 *   EAGAIN                     called from a handler of another context while a thread is inside this one */
LAPI_PUBLIC int LAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t* cntr, int num_dest, uint* dest_list,
                                     int* dest_status);
LAPI_PUBLIC int PLAPI_Setcntr_wstatus(lapi_handle_t hndl, lapi_cntr_t* cntr, int num_dest, uint* dest_list,
                                      int* dest_status);

/* LAPI_Waitcntr that leaves the processor to others: it does not spin (chapter 19). Blocking. Wakes early when all
 * tasks of the counter's list (LAPI_Setcntr_wstatus) that have not moved it are purged; without a list, when any task
 * is purged. lib_vers was L2_LIB or LAST_LIB in LAPI_Init.
 *   cntr_ptr      the counter, in this task; not NULL
 *   val           the value to reach, from 1
 *   cur_cntr_val  out: the counter after the subtraction; NULL: not wanted
 *   LAPI_ERR_HNDL_INVALID       the handle is not valid
 *   LAPI_ERR_CNTR_NULL          cntr_ptr is NULL
 *   LAPI_ERR_CNTR_VAL           val is 0 or less
 *   LAPI_ERR_MULTIPLE_WAITERS   another thread waits for the counter in this call
 *   LAPI_ERR_NO_CONNECTIVITY    as in LAPI_Waitcntr
 *   LAPI_ERR_TGT_PURGED         as above, and as in LAPI_Waitcntr
 *   EFAULT                      as in LAPI_Waitcntr
 *   LAPI_ERR_MEMORY_EXHAUSTED   no memory, or as in LAPI_Waitcntr
 *   EPERM                       lib_vers was L1_LIB
 *   EDEADLK                     called from a header handler or an inline completion handler */
LAPI_PUBLIC int LAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t* cntr_ptr, int val, int* cur_cntr_val);
LAPI_PUBLIC int PLAPI_Nopoll_wait(lapi_handle_t hndl, lapi_cntr_t* cntr_ptr, int val, int* cur_cntr_val);

/* Returns the text that belongs to a return code, an attention message's number or an errno value (chapter 18). Not
 * blocking. Anywhere, also before LAPI_Init.
 *   error_code  the code
 *   buf         out: the text, at most 99 characters, and a zero; LAPI_MAX_ERR_STRING bytes are always enough; not NULL
 *   LAPI_ERR_RET_PTR_NULL    buf is NULL
 *   LAPI_ERR_CODE_UNKNOWN    no such code; buf then says so
 *   LAPI_ERR_CATALOG_FAIL    never: the texts are part of the library */
LAPI_PUBLIC int LAPI_Msg_string(int error_code, void* buf);
LAPI_PUBLIC int PLAPI_Msg_string(int error_code, void* buf);

#pragma GCC diagnostic pop

#ifdef __cplusplus
}
#endif

#endif /* LAPI_H */
