#include "api/rpi/host/self_module.h"

#include <memory>

#include "api/rpi/host/self_matching.h"
#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {
namespace {

// Above all others: nobody knows a shorter way to oneself.
constexpr int kPriority = 100;

std::unique_ptr<SelfMatching> matching;

SelfRequest& own_part(MPI_Request request) { return *reinterpret_cast<SelfRequest*>(request->rq_rpi); }

int query(int* priority, int* thread_min, int* thread_max) {
  *priority = kPriority;
  *thread_min = MPI_THREAD_SINGLE;
  *thread_max = MPI_THREAD_MULTIPLE;  // its callers take turns
  return 1;
}

int add_processes(_proc** processes, int count) {
  return ssi::catch_errors(LAMERROR, [&] {
    for (int n = 0; n < count; ++n) {
      if (processes[n] == lam_myproc) {
        processes[n]->p_mode |= LAM_PRPIINIT | LAM_PRPICONNECT;
        continue;
      }
      throw ssi::SsiError("rpi module self is to reach process " + std::to_string(processes[n]->p_gps.gps_grank) +
                          "; allowed: this process alone");
    }
    return 0;
  });
}

int finalize(_proc* process) {
  if (process != nullptr) {
    process->p_mode &= ~(LAM_PRPIINIT | LAM_PRPICONNECT);
  } else {
    if (lam_myproc != nullptr) finalize(lam_myproc);
    matching.reset();
  }
  return 0;
}

int build(MPI_Request request) {
  return ssi::catch_errors(LAMERROR, [&] {
    auto own = std::make_unique<SelfRequest>();
    own->request = request;
    own->wanted = {request->rq_cid, request->rq_rank, request->rq_tag};
    request->rq_rpi = reinterpret_cast<lam_ssi_rpi_req*>(own.release());
    return 0;
  });
}

int start(MPI_Request, MPI_Request request) {
  return ssi::catch_errors(LAMERROR, [&] {
    SelfRequest& own = own_part(request);
    matching->forget(own);
    if (request->rq_type == LAM_RQIRECV) {
      matching->receive(own);
    } else if (request->rq_type == LAM_RQIPROBE) {
      matching->probe(own);
    } else {
      matching->send(own);
    }
    return 0;
  });
}

// Everything happens when requests start; nothing comes while they wait.
int advance(MPI_Request, int) { return matching->take_change() ? 1 : 0; }

int destroy(MPI_Request request) {
  const std::unique_ptr<SelfRequest> own(&own_part(request));
  matching->forget(*own);
  request->rq_rpi = nullptr;
  return 0;
}

int iprobe(MPI_Request request) { return matching->has_message(request) ? 1 : 0; }

int nothing() { return 0; }  // what is open lies in the process itself

const lam_ssi_rpi_actions_1_1_0_t actions = {
    .lsra_addprocs = add_processes,
    .lsra_finalize = finalize,
    .lsra_build = build,
    .lsra_start = start,
    .lsra_advance = advance,
    .lsra_destroy = destroy,
    .lsra_iprobe = iprobe,
    .lsra_fastrecv = nullptr,
    .lsra_fastsend = nullptr,
    .lsra_alloc_mem = lam_ssi_rpi_base_alloc_mem,
    .lsra_free_mem = lam_ssi_rpi_base_free_mem,
    .lsra_interrupt = nothing,
    .lsra_checkpoint = nothing,
    .lsra_continue = nothing,
    .lsra_restart = nothing,
    .lsra_tv_queue_support = 1,
};

const lam_ssi_rpi_actions_1_1_0_t* init(_proc** processes, int count, int*, int*) {
  return ssi::catch_errors(static_cast<const lam_ssi_rpi_actions_1_1_0_t*>(nullptr), [&] {
    if (add_processes(processes, count) != 0) return static_cast<const lam_ssi_rpi_actions_1_1_0_t*>(nullptr);
    matching = std::make_unique<SelfMatching>();
    return &actions;
  });
}

constexpr lam_ssi_rpi_1_1_0_t module = {{1, 0, 0, "rpi", 1, 1, 0, "self", 1, 0, 0, nullptr, nullptr}, query, init};

}  // namespace

const lam_ssi_1_0_0_t* self_module() { return &module.lsr_meta_info; }

}  // namespace openlapi::rpi
