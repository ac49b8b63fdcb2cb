#include "api/rpi/lapi/lam_layer.h"

#include <cstdio>

#include "api/rpi/include/mpisys.h"
#include "api/rpi/lapi/debugger.h"
#include "api/rpi/lapi/lam_host.h"

namespace openlapi::rpi {

namespace {

// All calls of MPI have one lock, so that only one is under way.
bool calls_have_lock() {
  const bool has_lock = &lam_mpi_mutex != nullptr && lam_mutex_trylock != nullptr && lam_mutex_unlock != nullptr;
  return has_lock && &lam_mpi_thread_level != nullptr && lam_mpi_thread_level == MPI_THREAD_SERIALIZED;
}

}  // namespace

void LamLayer::request_begun() { ++lam_rq_nactv; }

void LamLayer::request_ended() { --lam_rq_nactv; }

bool LamLayer::start_request(MPI_Request request) { return _mpi_req_start(request) == 0; }

int LamLayer::error_of(int error_class) { return lam_mkerr(error_class, 0); }

int LamLayer::next_number() { return lam_seqnum++; }

bool LamLayer::is_homogeneous() { return lam_homog != 0; }

bool LamLayer::has_debugger() { return is_traced(); }

void LamLayer::let_checkpoint_in() {
  if (&lam_ssi_crmpi_base_handler_state == nullptr || &lam_ssi_crmpi == nullptr) return;
  if (lam_ssi_crmpi_base_handler_state != LAM_SSI_CRMPI_BASE_HANDLER_STATE_WAITING) return;
  call_meanwhile_([] { lam_ssi_crmpi.lscrma_app_suspend(); });
}

Holding LamLayer::hold_calls() {
  if (!calls_have_lock()) return Holding::never;
  return lam_mutex_trylock(&lam_mpi_mutex) == 0 ? Holding::held : Holding::later;
}

void LamLayer::release_calls() { lam_mutex_unlock(&lam_mpi_mutex); }

void LamLayer::tell(const _proc& process, const char* what) {
  const _gps& gps = process.p_gps;
  std::fprintf(stderr, "openlapi: process %d of its MPI_COMM_WORLD: process %d (pid %d on node n%d of LAM) %s\n",
               lam_myproc->p_gps.gps_grank, gps.gps_grank, gps.gps_pid, gps.gps_node, what);
}

}  // namespace openlapi::rpi
