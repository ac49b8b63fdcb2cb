/* An rpi module as others write them, of all functions and with the services that modules have: C89, interface 1.0.0.
 * rpi_module_cxx98.cc compiles it as C++98 with interface 1.1.0. It keeps every message it is to send, and receives
 * from what it keeps: a process that talks to itself, or hears an echo from its peers. */
#include <lam-ssi-rpi.h>
#include <lam-ssi.h>
#include <stdlib.h>
#include <string.h>

#define TRY_JOIN(name) lam_ssi_rpi_##name##_module
#define TRY_MODULE(name) TRY_JOIN(name)
#define TRY_TEXT(name) #name
#define TRY_STRING(name) TRY_TEXT(name)

struct lam_ssi_rpi_proc {
  int messages;
};

struct lam_ssi_rpi_req {
  struct lam_ssi_rpi_envl envelope;
};

static int priority_index = LAMERROR;

static int open_module(OPT* aod) {
  (void)aod;
  priority_index = lam_ssi_base_param_register_int("rpi", TRY_STRING(TRY_NAME), "priority", NULL, 7);
  return priority_index >= 0;
}

static int close_module(void) { return 0; }

static int query(int* priority, int* thread_min, int* thread_max) {
  *priority = lam_ssi_base_param_lookup_int(priority_index);
  *thread_min = MPI_THREAD_SINGLE;
  *thread_max = MPI_THREAD_FUNNELED;
  return 1;
}

static int addprocs(struct _proc** procs, int nprocs) {
  int n;
  for (n = 0; n < nprocs; ++n) {
    procs[n]->p_rpi = (struct lam_ssi_rpi_proc*)calloc(1, sizeof(struct lam_ssi_rpi_proc));
    if (procs[n]->p_rpi == NULL) return LAMERROR;
    procs[n]->p_mode |= LAM_PRPIINIT | LAM_PRPICONNECT;
  }
  return 0;
}

static void forget(struct _proc* proc) {
  free(proc->p_rpi);
  proc->p_rpi = NULL;
  proc->p_mode &= ~(LAM_PRPIINIT | LAM_PRPICONNECT);
}

static int finalize(struct _proc* proc) {
  struct _proc* each;
  if (proc != NULL) {
    forget(proc);
    return 0;
  }
  for (each = lam_topproc(); each != NULL; each = lam_nextproc()) forget(each);
  return 0;
}

static int build(MPI_Request req) {
  req->rq_rpi = (struct lam_ssi_rpi_req*)calloc(1, sizeof(struct lam_ssi_rpi_req));
  if (req->rq_rpi == NULL) return LAMERROR;
  req->rq_rpi->envelope.ce_len = req->rq_packsize;
  req->rq_rpi->envelope.ce_tag = req->rq_tag;
  req->rq_rpi->envelope.ce_rank = req->rq_rank;
  req->rq_rpi->envelope.ce_cid = req->rq_cid;
  return 0;
}

static int send_message(MPI_Request req) {
  struct lam_ssi_rpi_cbuf_msg message;
  memset(&message, 0, sizeof message);
  message.cm_proc = req->rq_proc != NULL ? req->rq_proc : lam_myproc;
  message.cm_env = req->rq_rpi->envelope;
  message.cm_env.ce_seq = req->rq_seq;
  message.cm_buf = (char*)malloc((size_t)req->rq_packsize + 1);
  if (message.cm_buf == NULL) return LAMERROR;
  lam_memcpy(message.cm_buf, req->rq_packbuf, (size_t)req->rq_packsize);
  if (lam_ssi_rpi_cbuf_append(&message) == NULL) return LAMERROR;
  ++message.cm_proc->p_rpi->messages;
  req->rq_state = LAM_RQSDONE;
  return 0;
}

/* 1: there was one. */
static int receive_message(MPI_Request req) {
  struct lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&req->rq_rpi->envelope);
  int length;
  if (message == NULL) return 0;
  length = message->cm_env.ce_len;
  if (req->rq_type == LAM_RQIRECV && length > req->rq_packsize) {
    length = req->rq_packsize;
    req->rq_flags |= LAM_RQFTRUNC;
  }
  lam_ssi_rpi_fill_mpi_status(req, message->cm_env.ce_rank, message->cm_env.ce_tag, length);
  req->rq_seq = message->cm_env.ce_seq;
  if (req->rq_type == LAM_RQIRECV) {
    lam_memcpy(req->rq_packbuf, message->cm_buf, (size_t)length);
    lam_ssi_rpi_cbuf_delete(message);
  }
  req->rq_state = LAM_RQSDONE;
  return 1;
}

static int start(MPI_Request req_top, MPI_Request req) {
  (void)req_top;
  if (req->rq_marks & LAM_RQFSOURCE) return send_message(req);
  receive_message(req);
  return 0;
}

static int advance(MPI_Request req_top, int fl_block) {
  int changed = 0;
  MPI_Request req;
  (void)fl_block;
  for (req = req_top; req != NULL; req = req->rq_next) {
    if (req->rq_state == LAM_RQSSTART && receive_message(req)) changed = 1;
  }
  return changed;
}

static int destroy(MPI_Request req) {
  free(req->rq_rpi);
  req->rq_rpi = NULL;
  return 0;
}

#ifdef LAM_SSI_RPI_1_1_0
static int interrupt(void) { return 0; }
#endif

static const lam_ssi_rpi_actions_t actions = {addprocs,
                                              finalize,
                                              build,
                                              start,
                                              advance,
                                              destroy,
                                              receive_message,
                                              NULL,
                                              NULL,
                                              lam_ssi_rpi_base_alloc_mem,
                                              lam_ssi_rpi_base_free_mem,
#ifdef LAM_SSI_RPI_1_1_0
                                              interrupt,
#endif
                                              NULL,
                                              NULL,
                                              NULL,
                                              1};

static const lam_ssi_rpi_actions_t* init(struct _proc** procs, int nprocs, int* maxtag, int* maxcid) {
  if (*maxtag > 1000) *maxtag = 1000;
  (void)maxcid;
  return addprocs(procs, nprocs) == 0 ? &actions : NULL;
}

#ifdef LAM_SSI_RPI_1_1_0
#define TRY_MINOR 1
#else
#define TRY_MINOR 0
#endif

#ifdef __cplusplus
extern "C" {
#endif
LAM_SSI_PUBLIC extern const lam_ssi_rpi_t TRY_MODULE(TRY_NAME);
const lam_ssi_rpi_t TRY_MODULE(TRY_NAME) = {
    {1, 0, 0, "rpi", 1, TRY_MINOR, 0, TRY_STRING(TRY_NAME), 2, 1, 0, open_module, close_module}, query, init};
#ifdef __cplusplus
}
#endif
