#include "api/rpi/host/communicator.h"

#include <algorithm>

#include "api/rpi/services/process_list.h"

namespace openlapi::rpi {
namespace {

std::vector<MPI_Comm>& all_communicators() {
  static std::vector<MPI_Comm> communicators;
  return communicators;
}

bool has_process_on(const _group* group, int node) {
  if (group == nullptr) return false;
  const std::span processes(group->g_procs, static_cast<std::size_t>(group->g_nprocs));
  return std::ranges::any_of(processes, [&](const _proc* each) { return each->p_gps.gps_node == node; });
}

}  // namespace

Communicator::Communicator(int context, std::span<_proc* const> processes)
    : processes_(processes.begin(), processes.end()) {
  all_communicators().push_back(&comm_);
  const auto own = std::ranges::find(processes_, lam_myproc);
  group_.g_nprocs = static_cast<int>(processes_.size());
  group_.g_myrank = own == processes_.end() ? MPI_UNDEFINED : static_cast<int>(own - processes_.begin());
  group_.g_refcount = 1;
  group_.g_procs = processes_.data();
  comm_.c_contextid = context;
  comm_.c_refcount = 1;
  comm_.c_group = &group_;
  comm_.c_topo_type = MPI_UNDEFINED;
  add_references(group_);
}

Communicator::~Communicator() {
  std::erase(all_communicators(), &comm_);
  drop_references(group_);
}

}  // namespace openlapi::rpi

void lam_ssi_rpi_commfault(int node) {
  for (const MPI_Comm comm : openlapi::rpi::all_communicators()) {
    if (openlapi::rpi::has_process_on(comm->c_group, node)) comm->c_flags |= LAM_CLDEAD;
    if (openlapi::rpi::has_process_on(comm->c_rgroup, node)) comm->c_flags |= LAM_CRDEAD;
  }
}

int lam_ssi_rpi_comm_dead(MPI_Request req) {
  req->rq_state = LAM_RQSDONE;
  req->rq_status.MPI_ERROR = (req->rq_comm->c_flags & LAM_CLDEAD) != 0 ? MPI_ERR_LOCALDEAD : MPI_ERR_REMOTEDEAD;
  return 1;
}
