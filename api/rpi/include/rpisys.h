/* SPDX-License-Identifier: Apache-2.0 */
/* What the MPI layer and rpi modules share: processes, requests, envelopes, messages that nobody has asked for yet
 * (rpi SSI specification, sections 3.3 and 3.5; the numbers in brackets are its sections). The layout is LAM 7.1's. */
#ifndef OPENLAPI_RPISYS_H
#define OPENLAPI_RPISYS_H

#include <sys/types.h>

#include "app_mgmt.h"
#include "lam_mpi.h"
#include "typical.h"

/* ---- A message's envelope [3.3.7] ---- */
struct lam_ssi_rpi_envl {
  int4 ce_len;   /* bytes of the message */
  int4 ce_tag;   /* 16 bits */
  int4 ce_flags; /* C2C flags */
  int4 ce_rank;  /* of the peer */
  int4 ce_cid;   /* context of the communicator */
  int4 ce_seq;   /* sequence number */
};

#define C2CTINY 0x01     /* envelope and data arrive in one */
#define C2CSHORT 0x02    /* the data follow the envelope */
#define C2CLONG 0x04     /* the data follow when the receiver is ready */
#define C2CACK 0x08      /* the receiver is ready, or has a synchronous message */
#define C2C2ND 0x10      /* the data of a long message follow now */
#define C2CSSEND 0x20    /* the sender waits until it is received */
#define C2CBOX 0x40      /* long, through a postbox */
#define C2CBUFFERED 0x80 /* this envelope has been kept before */

/* ---- A process [3.3.2], as this process knows it ---- */

/* What a module adds to a process and to a request: each module defines them for itself. */
struct lam_ssi_rpi_proc;
struct lam_ssi_rpi_req;

struct _proc {
  struct _gps p_gps; /* where it runs */
  int p_ger_nsnd;    /* messages sent there: guaranteed envelope resources. In the specification p_get_nsnd */
  int p_mode;        /* LAM_P flags; the lower 8 bits are the MPI layer's */
  int p_refcount;    /* communicators and groups that it is in */
  int p_num_buf_env; /* envelopes kept from it */
  struct lam_ssi_rpi_proc* p_rpi;
};

#define p_get_nsnd p_ger_nsnd

#define LAM_PFLAG 0x001       /* a mark for a short time */
#define LAM_PDEAD 0x002       /* it has died */
#define LAM_PRPIINIT 0x004    /* the module has initialised it */
#define LAM_PCLIENT 0x008     /* it is of another MPI_COMM_WORLD: spawned, or connected to */
#define LAM_PHOMOG 0x010      /* it has our byte order */
#define LAM_PRPICONNECT 0x020 /* the module is connected to it */
#define LAM_PRPIADDED 0x040   /* it is among those that lsra_addprocs is being told of */

/* ---- A request [3.3.3] ---- */
struct _req {
  char* rq_name; /* for debuggers; malloc'ed, or NULL */
  int rq_type;   /* LAM_RQI */
  int rq_state;  /* LAM_RQS; modules keep it true */
  int rq_marks;  /* LAM_RQF flags for its whole life; the MPI layer's */
  int rq_flags;  /* LAM_RQF flags from start to start; modules set LAM_RQFTRUNC only */

  char* rq_packbuf; /* the data to send, or room for them */
  int rq_packsize;  /* in bytes */

  /* Parameters of the MPI function */
  int rq_count;
  void* rq_buf;
  MPI_Datatype rq_dtype;
  int rq_rank;
  int rq_tag;
  MPI_Comm rq_comm;

  int rq_cid;           /* context, for the envelope */
  int rq_func;          /* which MPI function it was */
  int rq_seq;           /* number of the message; of a received one its sender's */
  int rq_f77handle;     /* Fortran's handle */
  MPI_Status rq_status; /* of a received message: modules fill it */
  struct _bsndhdr* rq_bsend;
  struct _proc* rq_proc; /* the peer; NULL: MPI_ANY_SOURCE */
  struct _req* rq_next;  /* in the MPI layer's list */

  /* The MPI layer's */
  void* rq_extra;
  int (*rq_hdlr)(MPI_Request);
  MPI_Request rq_shadow;

  struct lam_ssi_rpi_req* rq_rpi;
};

/* rq_type */
#define LAM_RQISEND 0
#define LAM_RQIBSEND 1
#define LAM_RQISSEND 2
#define LAM_RQIRSEND 3
#define LAM_RQIRECV 4
#define LAM_RQIPROBE 5
#define LAM_RQIFAKE 6 /* no module sees one */

/* rq_state */
#define LAM_RQSINIT 0   /* not started */
#define LAM_RQSSTART 1  /* started, and can still be cancelled */
#define LAM_RQSDONE 3   /* done, or cancelled */
#define LAM_RQSACTIVE 4 /* begun */

/* rq_marks */
#define LAM_RQFPERSIST 0x0001 /* persistent */
#define LAM_RQFDYNBUF 0x0004  /* its buffer is freed with it */
#define LAM_RQFDYNREQ 0x0008  /* it was malloc'ed */
#define LAM_RQFSOURCE 0x0200  /* it sends */
#define LAM_RQFDEST 0x0400    /* it receives */
#define LAM_RQFBLKTYPE 0x0800 /* of a blocking function */
#define LAM_RQFOSORIG 0x1000  /* origin of a one-sided operation */
#define LAM_RQFOSTARG 0x2000  /* target of one */
#define LAM_RQFMAND 0x4000    /* must end */

/* rq_flags */
#define LAM_RQFCANCEL 0x00000002  /* cancelled */
#define LAM_RQFBLOCK 0x00000010   /* somebody blocks on it */
#define LAM_RQFTRUNC 0x00000020   /* the message was longer than the room for it */
#define LAM_RQFHDLDONE 0x00000040 /* rq_hdlr has been called */
#define LAM_RQFORPHAN 0x00000100  /* freed by the program: it goes when it is done */
#define LAM_RQFCHAR 0x00100000    /* the next five are obsolete */
#define LAM_RQFINT 0x00200000
#define LAM_RQFFLOAT 0x00400000
#define LAM_RQFDOUBLE 0x00800000
#define LAM_RQFSHORT 0x01000000
#define LAM_RQFMARK 0x02000000    /* a mark for a short time */
#define LAM_RQFACKDONE 0x04000000 /* not for modules */

/* ---- A message that nobody has asked for yet [3.3.8] ---- */

/* What a module adds to it: each module defines it for itself. */
struct lam_ssi_rpi_cbuf;

struct lam_ssi_rpi_cbuf_msg {
  struct _proc* cm_proc; /* who sent it */
  struct lam_ssi_rpi_envl cm_env;
  struct lam_ssi_rpi_cbuf* cm_extra; /* not in the specification */
  char* cm_buf;                      /* its data, malloc'ed; NULL: they are elsewhere */
  int cm_dont_delete;                /* not 0: cm_buf is not freed with the message */
  MPI_Request cm_req;                /* the send request, if we sent it; else NULL */
};

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Messages that nobody has asked for yet [3.5.2]; thread safe with MPI_THREAD_MULTIPLE only ---- */
/* Before the first and after the last; called for modules. 0, or LAMERROR: no memory. */
LAM_SSI_PUBLIC int lam_ssi_rpi_cbuf_init(void);
LAM_SSI_PUBLIC void lam_ssi_rpi_cbuf_end(void);
/* The oldest message that matches: context, rank or MPI_ANY_SOURCE, tag or MPI_ANY_TAG; it stays. NULL: there is none.
 * Takes the same time however many messages there are. */
LAM_SSI_PUBLIC struct lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_find(struct lam_ssi_rpi_envl* rqenv);
/* Keeps a copy of `*msg` and returns it; it stays where it is. NULL: no memory, or not between init and end. */
LAM_SSI_PUBLIC struct lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_append(struct lam_ssi_rpi_cbuf_msg* msg);
/* A message that find, append or find_and_remove returned. Frees cm_buf unless cm_dont_delete says not to. */
LAM_SSI_PUBLIC void lam_ssi_rpi_cbuf_delete(struct lam_ssi_rpi_cbuf_msg* msg);
/* Finds as lam_ssi_rpi_cbuf_find does and takes the message out of the queue in one step, so that nobody else finds it
 * [5.2]; it is the caller's until lam_ssi_rpi_cbuf_delete. Not in LAM: modules for both do without. */
LAM_SSI_PUBLIC struct lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_find_and_remove(struct lam_ssi_rpi_envl* rqenv);

/* ---- As in LAM 7.1, whose modules use them ---- */
/* 0: the envelope `message` is what `request`, which may have wildcards, asks for; else 1. */
LAM_SSI_PUBLIC int lam_ssi_rpi_envl_cmp(struct lam_ssi_rpi_envl* message, struct lam_ssi_rpi_envl* request);
/* rq_status of a received message. */
LAM_SSI_PUBLIC void lam_ssi_rpi_fill_mpi_status(MPI_Request req, int source, int tag, int length);
/* Somebody in the request's communicator is dead: it is done, its MPI_ERROR is MPI_ERR_LOCALDEAD or
 * MPI_ERR_REMOTEDEAD. Returns 1. */
LAM_SSI_PUBLIC int lam_ssi_rpi_comm_dead(MPI_Request req);
/* A node has died: marks the communicators that have processes there (LAM_CLDEAD, LAM_CRDEAD). */
LAM_SSI_PUBLIC void lam_ssi_rpi_commfault(int node);

/* ---- For modules whose memory is nothing special [3.5.3] ---- */
/* `baseptr` is the address of a pointer. 0, or LAMERROR: no memory, or `size` is below 0. */
LAM_SSI_PUBLIC int lam_ssi_rpi_base_alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr);
LAM_SSI_PUBLIC int lam_ssi_rpi_base_free_mem(void* base);

#ifdef __cplusplus
}
#endif

#endif
