/* Prints where the members of the rpi SSI's structures lie and what its names stand for. It is compiled with our
 * headers and with those of Debian's lam4-dev (then with PACKAGED defined): both tables must be the same. C89. */
#include <lam-ssi-rpi.h>
#include <lam-ssi.h>
#include <stddef.h>
#include <stdio.h>

#define SIZE(type) printf("%s: %lu\n", #type, (unsigned long)sizeof(type))
#define PLACE(type, member)                                                          \
  printf("%s.%s: %lu, %lu\n", #type, #member, (unsigned long)offsetof(type, member), \
         (unsigned long)sizeof(((type*)0)->member))
#define VALUE(name) printf("%s: %ld\n", #name, (long)(name))

/* The compiler refuses functions that a type is not for. */
extern int try_query(int* priority, int* thread_min, int* thread_max);
extern const struct lam_ssi_rpi_actions_1_0_0* try_init_1_0_0(struct _proc** procs, int nprocs, int* maxtag,
                                                              int* maxcid);
extern const struct lam_ssi_rpi_actions_1_1_0* try_init_1_1_0(struct _proc** procs, int nprocs, int* maxtag,
                                                              int* maxcid);
extern int try_addprocs(struct _proc** procs, int nprocs);
extern int try_finalize(struct _proc* proc);
extern int try_build(MPI_Request req);
extern int try_start(MPI_Request req_top, MPI_Request req);
extern int try_advance(MPI_Request req_top, int fl_block);
extern int try_destroy(MPI_Request req);
extern int try_iprobe(MPI_Request req);
extern int try_fastrecv(char* buf, int count, MPI_Datatype type, int src, int* tag, MPI_Comm comm, MPI_Status* status,
                        int* seqnum);
extern int try_fastsend(char* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm);
extern int try_alloc_mem(MPI_Aint size, MPI_Info info, void* baseptr);
extern int try_free_mem(void* baseptr);
extern int try_interrupt(void);
extern int try_checkpoint(void);
extern int try_continue(void);
extern int try_restart(void);
extern int try_open(OPT* aod);
extern int try_close(void);

struct functions {
  lam_ssi_rpi_query_fn_t query_function;
  lam_ssi_rpi_init_1_0_0_fn_t init_1_0_0_function;
  lam_ssi_rpi_init_1_1_0_fn_t init_1_1_0_function;
  lam_ssi_rpi_addprocs_fn_t addprocs_function;
  lam_ssi_rpi_finalize_fn_t finalize_function;
  lam_ssi_rpi_build_fn_t build_function;
  lam_ssi_rpi_start_fn_t start_function;
  lam_ssi_rpi_advance_fn_t advance_function;
  lam_ssi_rpi_destroy_fn_t destroy_function;
  lam_ssi_rpi_iprobe_fn_t iprobe_function;
  lam_ssi_rpi_fastrecv_fn_t fastrecv_function;
  lam_ssi_rpi_fastsend_fn_t fastsend_function;
  lam_ssi_rpi_alloc_mem_fn_t alloc_mem_function;
  lam_ssi_rpi_free_mem_fn_t free_mem_function;
  lam_ssi_rpi_interrupt_fn_t interrupt_function;
  lam_ssi_rpi_checkpoint_fn_t checkpoint_function;
  lam_ssi_rpi_continue_fn_t continue_function;
  lam_ssi_rpi_restart_fn_t restart_function;
  lam_ssi_open_module_fn_t open_function;
  lam_ssi_close_module_fn_t close_function;
};

void check_functions(struct functions* all);
void check_functions(struct functions* all) {
  all->query_function = try_query;
  all->init_1_0_0_function = try_init_1_0_0;
  all->init_1_1_0_function = try_init_1_1_0;
  all->addprocs_function = try_addprocs;
  all->finalize_function = try_finalize;
  all->build_function = try_build;
  all->start_function = try_start;
  all->advance_function = try_advance;
  all->destroy_function = try_destroy;
  all->iprobe_function = try_iprobe;
  all->fastrecv_function = try_fastrecv;
  all->fastsend_function = try_fastsend;
  all->alloc_mem_function = try_alloc_mem;
  all->free_mem_function = try_free_mem;
  all->interrupt_function = try_interrupt;
  all->checkpoint_function = try_checkpoint;
  all->continue_function = try_continue;
  all->restart_function = try_restart;
  all->open_function = try_open;
  all->close_function = try_close;
}

/* And what the services are. */
void check_services(void);
void check_services(void) {
  struct _proc* proc = lam_myproc;
  struct _proc** procs = lam_procs;
  struct lam_ssi_rpi_envl envelope = {0, 0, 0, 0, 0, 0};
  struct lam_ssi_rpi_cbuf_msg message;
  int result = lam_num_procs + lam_nprocs() + lam_ssi_rpi_did + lam_ssi_rpi_verbose + lam_seqnum + lam_homog;
  proc = lam_topproc();
  proc = lam_nextproc();
  proc = lam_procadd(&proc->p_gps);
  proc = lam_procfind(&proc->p_gps);
  result += lam_proccmp(proc, proc) + lam_procrm(proc) + lam_procfree(proc);
  lam_procsort(procs, result);
  lam_nukeprocs();
  message = *lam_ssi_rpi_cbuf_find(&envelope);
  result += lam_ssi_rpi_cbuf_init() + lam_ssi_rpi_envl_cmp(&envelope, &message.cm_env);
  lam_ssi_rpi_cbuf_delete((struct lam_ssi_rpi_cbuf_msg*)lam_ssi_rpi_cbuf_append(&message));
  lam_ssi_rpi_cbuf_end();
  lam_ssi_rpi_fill_mpi_status(message.cm_req, 0, 0, result);
  result += lam_ssi_rpi_base_alloc_mem((MPI_Aint)result, (MPI_Info)0, &proc) + lam_ssi_rpi_base_free_mem(proc);
  lam_memcpy(&message.cm_env, &envelope, sizeof envelope);
}

static void print_datatype(void) {
  SIZE(struct _dtype);
  PLACE(struct _dtype, dt_format);
  PLACE(struct _dtype, dt_flags);
  PLACE(struct _dtype, dt_commit);
  PLACE(struct _dtype, dt_refcount);
  PLACE(struct _dtype, dt_f77handle);
  PLACE(struct _dtype, dt_label);
  PLACE(struct _dtype, dt_align);
  PLACE(struct _dtype, dt_upper);
  PLACE(struct _dtype, dt_lower);
  PLACE(struct _dtype, dt_size);
  PLACE(struct _dtype, dt_dataup);
  PLACE(struct _dtype, dt_datalow);
  PLACE(struct _dtype, dt_nelem);
  PLACE(struct _dtype, dt_count);
  PLACE(struct _dtype, dt_length);
  PLACE(struct _dtype, dt_stride);
  PLACE(struct _dtype, dt_dtype);
  PLACE(struct _dtype, dt_lengths);
  PLACE(struct _dtype, dt_disps);
  PLACE(struct _dtype, dt_dtypes);
  PLACE(struct _dtype, dt_keys);
  PLACE(struct _dtype, dt_uargs);
  PLACE(struct _dtype, dt_name);
  PLACE(struct _dtype, dt_reserved);
  VALUE(LAM_DTNOPACK);
  VALUE(LAM_DTNOXADJ);
}

static void print_places(void) {
  SIZE(struct _gps);
  PLACE(struct _gps, gps_node);
  PLACE(struct _gps, gps_pid);
  PLACE(struct _gps, gps_idx);
  PLACE(struct _gps, gps_grank);
  SIZE(struct _proc);
  PLACE(struct _proc, p_gps);
  PLACE(struct _proc, p_ger_nsnd);
  PLACE(struct _proc, p_mode);
  PLACE(struct _proc, p_refcount);
  PLACE(struct _proc, p_num_buf_env);
  PLACE(struct _proc, p_rpi);
  SIZE(struct _req);
  PLACE(struct _req, rq_name);
  PLACE(struct _req, rq_type);
  PLACE(struct _req, rq_state);
  PLACE(struct _req, rq_marks);
  PLACE(struct _req, rq_flags);
  PLACE(struct _req, rq_packbuf);
  PLACE(struct _req, rq_packsize);
  PLACE(struct _req, rq_count);
  PLACE(struct _req, rq_buf);
  PLACE(struct _req, rq_dtype);
  PLACE(struct _req, rq_rank);
  PLACE(struct _req, rq_tag);
  PLACE(struct _req, rq_comm);
  PLACE(struct _req, rq_cid);
  PLACE(struct _req, rq_func);
  PLACE(struct _req, rq_seq);
  PLACE(struct _req, rq_f77handle);
  PLACE(struct _req, rq_status);
  PLACE(struct _req, rq_bsend);
  PLACE(struct _req, rq_proc);
  PLACE(struct _req, rq_next);
  PLACE(struct _req, rq_extra);
  PLACE(struct _req, rq_hdlr);
  PLACE(struct _req, rq_shadow);
  PLACE(struct _req, rq_rpi);
  SIZE(struct _comm);
  PLACE(struct _comm, c_flags);
  PLACE(struct _comm, c_contextid);
  PLACE(struct _comm, c_refcount);
  PLACE(struct _comm, c_group);
  PLACE(struct _comm, c_rgroup);
  PLACE(struct _comm, c_keys);
  PLACE(struct _comm, c_cube_dim);
  PLACE(struct _comm, c_topo_type);
  PLACE(struct _comm, c_topo_nprocs);
  PLACE(struct _comm, c_topo_ndims);
  PLACE(struct _comm, c_topo_nedges);
  PLACE(struct _comm, c_topo_dims);
  PLACE(struct _comm, c_topo_coords);
  PLACE(struct _comm, c_topo_index);
  PLACE(struct _comm, c_topo_edges);
  PLACE(struct _comm, c_f77handle);
  PLACE(struct _comm, c_window);
  PLACE(struct _comm, c_errhdl);
  PLACE(struct _comm, c_name);
  PLACE(struct _comm, c_shadow);
  PLACE(struct _comm, c_reserved);
  PLACE(struct _comm, c_ssi_coll);
  PLACE(struct _comm, c_ssi_coll_data);
  PLACE(struct _comm, c_ssi_coll_lam_basic_data);
  PLACE(struct _comm, lsca_basic_finalize);
  SIZE(struct _group);
  PLACE(struct _group, g_nprocs);
  PLACE(struct _group, g_myrank);
  PLACE(struct _group, g_refcount);
  PLACE(struct _group, g_f77handle);
  PLACE(struct _group, g_procs);
  SIZE(MPI_Status);
  PLACE(MPI_Status, MPI_SOURCE);
  PLACE(MPI_Status, MPI_TAG);
  PLACE(MPI_Status, MPI_ERROR);
  PLACE(MPI_Status, st_length);
  SIZE(struct lam_ssi_rpi_envl);
  PLACE(struct lam_ssi_rpi_envl, ce_len);
  PLACE(struct lam_ssi_rpi_envl, ce_tag);
  PLACE(struct lam_ssi_rpi_envl, ce_flags);
  PLACE(struct lam_ssi_rpi_envl, ce_rank);
  PLACE(struct lam_ssi_rpi_envl, ce_cid);
  PLACE(struct lam_ssi_rpi_envl, ce_seq);
  SIZE(struct lam_ssi_rpi_cbuf_msg);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_proc);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_env);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_extra);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_buf);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_dont_delete);
  PLACE(struct lam_ssi_rpi_cbuf_msg, cm_req);
  SIZE(lam_ssi_1_0_0_t);
  PLACE(lam_ssi_1_0_0_t, ssi_major_version);
  PLACE(lam_ssi_1_0_0_t, ssi_minor_version);
  PLACE(lam_ssi_1_0_0_t, ssi_release_version);
  PLACE(lam_ssi_1_0_0_t, ssi_kind_name);
  PLACE(lam_ssi_1_0_0_t, ssi_kind_major_version);
  PLACE(lam_ssi_1_0_0_t, ssi_kind_minor_version);
  PLACE(lam_ssi_1_0_0_t, ssi_kind_release_version);
  PLACE(lam_ssi_1_0_0_t, ssi_module_name);
  PLACE(lam_ssi_1_0_0_t, ssi_module_major_version);
  PLACE(lam_ssi_1_0_0_t, ssi_module_minor_version);
  PLACE(lam_ssi_1_0_0_t, ssi_module_release_version);
  PLACE(lam_ssi_1_0_0_t, ssi_open_module);
  PLACE(lam_ssi_1_0_0_t, ssi_close_module);
  SIZE(lam_ssi_rpi_1_0_0_t);
  PLACE(lam_ssi_rpi_1_0_0_t, lsr_meta_info);
  PLACE(lam_ssi_rpi_1_0_0_t, lsr_query);
  PLACE(lam_ssi_rpi_1_0_0_t, lsr_init);
  SIZE(lam_ssi_rpi_1_1_0_t);
  PLACE(lam_ssi_rpi_1_1_0_t, lsr_meta_info);
  PLACE(lam_ssi_rpi_1_1_0_t, lsr_query);
  PLACE(lam_ssi_rpi_1_1_0_t, lsr_init);
  SIZE(lam_ssi_rpi_actions_1_0_0_t);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_addprocs);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_finalize);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_build);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_start);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_advance);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_destroy);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_iprobe);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_fastrecv);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_fastsend);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_alloc_mem);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_free_mem);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_checkpoint);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_continue);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_restart);
  PLACE(lam_ssi_rpi_actions_1_0_0_t, lsra_tv_queue_support);
  SIZE(lam_ssi_rpi_actions_1_1_0_t);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_addprocs);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_finalize);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_build);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_start);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_advance);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_destroy);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_iprobe);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_fastrecv);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_fastsend);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_alloc_mem);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_free_mem);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_interrupt);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_checkpoint);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_continue);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_restart);
  PLACE(lam_ssi_rpi_actions_1_1_0_t, lsra_tv_queue_support);
}

static void print_values(void) {
  VALUE(LAM_PFLAG);
  VALUE(LAM_PDEAD);
  VALUE(LAM_PRPIINIT);
  VALUE(LAM_PCLIENT);
  VALUE(LAM_PHOMOG);
  VALUE(LAM_PRPICONNECT);
  VALUE(LAM_PRPIADDED);
  VALUE(LAM_RQISEND);
  VALUE(LAM_RQIBSEND);
  VALUE(LAM_RQISSEND);
  VALUE(LAM_RQIRSEND);
  VALUE(LAM_RQIRECV);
  VALUE(LAM_RQIPROBE);
  VALUE(LAM_RQIFAKE);
  VALUE(LAM_RQSINIT);
  VALUE(LAM_RQSSTART);
  VALUE(LAM_RQSACTIVE);
  VALUE(LAM_RQSDONE);
  VALUE(LAM_RQFPERSIST);
  VALUE(LAM_RQFDYNBUF);
  VALUE(LAM_RQFDYNREQ);
  VALUE(LAM_RQFSOURCE);
  VALUE(LAM_RQFDEST);
  VALUE(LAM_RQFBLKTYPE);
  VALUE(LAM_RQFOSORIG);
  VALUE(LAM_RQFOSTARG);
  VALUE(LAM_RQFMAND);
  VALUE(LAM_RQFCANCEL);
  VALUE(LAM_RQFBLOCK);
  VALUE(LAM_RQFTRUNC);
  VALUE(LAM_RQFHDLDONE);
  VALUE(LAM_RQFORPHAN);
  VALUE(LAM_RQFCHAR);
  VALUE(LAM_RQFINT);
  VALUE(LAM_RQFFLOAT);
  VALUE(LAM_RQFDOUBLE);
  VALUE(LAM_RQFSHORT);
  VALUE(LAM_RQFMARK);
  VALUE(LAM_RQFACKDONE);
  VALUE(LAM_CINTER);
  VALUE(LAM_CLDEAD);
  VALUE(LAM_CRDEAD);
  VALUE(LAM_CIMPI);
  VALUE(LAM_CHOMOG);
  VALUE(LAM_CHIDDEN);
  VALUE(LAM_RBASIC);
  VALUE(C2CTINY);
  VALUE(C2CSHORT);
  VALUE(C2CLONG);
  VALUE(C2CACK);
  VALUE(C2C2ND);
  VALUE(C2CSSEND);
  VALUE(C2CBOX);
  VALUE(C2CBUFFERED);
  VALUE(MPI_SUCCESS);
  VALUE(MPI_ANY_SOURCE);
  VALUE(MPI_PROC_NULL);
  VALUE(MPI_CANCEL_SOURCE);
  VALUE(MPI_ANY_TAG);
  VALUE(MPI_UNDEFINED);
  VALUE(MPI_CART);
  VALUE(MPI_GRAPH);
  VALUE(MPI_MAX_OBJECT_NAME);
  VALUE(MPI_ERR_COMM);
  VALUE(MPI_ERR_RANK);
  VALUE(MPI_ERR_REQUEST);
  VALUE(MPI_ERR_ARG);
  VALUE(MPI_ERR_UNKNOWN);
  VALUE(MPI_ERR_TRUNCATE);
  VALUE(MPI_ERR_OTHER);
  VALUE(MPI_ERR_INTERN);
  VALUE(MPI_ERR_SYSRESOURCE);
  VALUE(MPI_ERR_LOCALDEAD);
  VALUE(MPI_ERR_REMOTEDEAD);
  VALUE(MPI_ERR_NO_MEM);
  VALUE(MPI_ERR_BASE);
  VALUE(MPI_THREAD_SINGLE);
  VALUE(MPI_THREAD_FUNNELED);
  VALUE(MPI_THREAD_SERIALIZED);
  VALUE(MPI_THREAD_MULTIPLE);
  VALUE(LAMERROR);
  VALUE(LAM_MPI_SSI_BASE_MAX_KIND_NAME_LEN);
  VALUE(LAM_MPI_SSI_BASE_MAX_MODULE_NAME_LEN);
}

#ifndef PACKAGED
/* What only the specification names. */
static int check_specification(void) {
  return offsetof(struct _proc, p_get_nsnd) == offsetof(struct _proc, p_ger_nsnd) && LAM_CFAKE == LAM_CIMPI &&
         sizeof(lam_ssi_rpi_init_fn_t) == sizeof(lam_ssi_rpi_init_1_0_0_fn_t) &&
         sizeof(lam_ssi_rpi_t) == sizeof(lam_ssi_rpi_1_0_0_t) &&
         sizeof(lam_ssi_rpi_actions_t) == sizeof(lam_ssi_rpi_actions_1_0_0_t);
}
#else
static int check_specification(void) { return 1; }
#endif

int main(void) {
  print_places();
  print_datatype();
  print_values();
  return check_specification() ? 0 : 1;
}
