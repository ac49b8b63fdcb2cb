/* What the module uses of LAM/MPI 7.1.4 beyond the interfaces for modules: its messages between processes, and what its
 * MPI layer counts. All of it is in the host that loads the module; weak, so that the module can say what is missing.
 */
#ifndef OPENLAPI_LAM_HOST_H
#define OPENLAPI_LAM_HOST_H

#include "api/rpi/include/lam-ssi-rpi.h"

#define NHDSIZE 8 /* words in the header of a message */

struct nmsg {
  int4 nh_dl_event; /* of the way there; not ours */
  int4 nh_dl_link;
  int4 nh_node;   /* of the receiver */
  int4 nh_event;  /* the receiver */
  int4 nh_type;   /* the sender, and what it is about */
  int4 nh_length; /* bytes at nh_msg: to send; room for them, then those received */
  int4 nh_flags;
  int4 nh_data[NHDSIZE];
  char* nh_msg;
};

#define MAXNMSGLEN 8192   /* bytes at nh_msg that travel in one piece */
#define DINT4DATA 0x20000 /* nh_data are numbers, and keep their values between machines */

struct lam_ssi_crmpi_actions {
  int (*lscrma_finalize)(void);
  void (*lscrma_app_suspend)(void); /* lets go of MPI's lock until the checkpoint is over */
};

/* LAM's lock, of which programs have pointers only. */
struct lam_mutex;

#ifdef __cplusplus
extern "C" {
#endif

/* 0, or LAMERROR with errno. */
extern int nsend(struct nmsg* message) __attribute__((weak));
/* The same, at once: LAMERROR with EWOULDBLOCK if nothing is there. */
extern int ntry_recv(struct nmsg* message) __attribute__((weak));
/* Fills in who sends to whom, by node and index. */
extern void _m2l_fillsys(int sender_node, int sender_index, int node, int index, int context, int tag,
                         struct nmsg* message) __attribute__((weak));

/* Requests that are active: modules count them down. */
extern int lam_rq_nactv __attribute__((weak));
/* As in mpisys.h. */
extern int lam_seqnum __attribute__((weak));
extern int lam_homog __attribute__((weak));
/* Of the cr module that makes checkpoints: its thread wants the lock that a thread inside MPI has. */
enum { LAM_SSI_CRMPI_BASE_HANDLER_STATE_WAITING = 1 };
extern volatile int lam_ssi_crmpi_base_handler_state __attribute__((weak));
extern struct lam_ssi_crmpi_actions lam_ssi_crmpi __attribute__((weak));
/* With MPI_THREAD_SERIALIZED every call of MPI has the lock from its begin to its end. */
extern int lam_mpi_thread_level __attribute__((weak));
extern struct lam_mutex lam_mpi_mutex __attribute__((weak));
extern int lam_mutex_trylock(struct lam_mutex* mutex) __attribute__((weak)); /* 0: it is the caller's */
extern void lam_mutex_unlock(struct lam_mutex* mutex) __attribute__((weak));
/* Makes a request ready and has the module start it. 0, or LAMERROR. */
extern int _mpi_req_start(MPI_Request request) __attribute__((weak));
/* MPI_ERROR of a status. */
extern int lam_mkerr(int error_class, int error) __attribute__((weak));

#ifdef __cplusplus
}
#endif

#endif
