// The processes that this one knows, in C; LAM's MPI layer has the same functions.
#include <algorithm>
#include <span>

#include "api/rpi/services/process_list.h"
#include "control/ssi/ssi_error.h"

_proc* lam_myproc = nullptr;
_proc** lam_procs = nullptr;
int lam_num_procs = 0;

namespace openlapi::rpi {
namespace {

ProcessList& list() {
  static ProcessList processes;
  return processes;
}

lam_ssi_rpi_finalize_fn_t finalize_process = nullptr;

void show_list() {
  std::vector<_proc*>& processes = list().processes();
  lam_procs = processes.empty() ? nullptr : processes.data();
  lam_num_procs = static_cast<int>(processes.size());
}

std::span<_proc* const> members(const _group& group) {
  return {group.g_procs, static_cast<std::size_t>(std::max(group.g_nprocs, 0))};
}

}  // namespace

void finalize_processes_with(lam_ssi_rpi_finalize_fn_t finalize) { finalize_process = finalize; }

void add_references(const _group& group) {
  for (_proc* process : members(group)) ++process->p_refcount;
}

void drop_references(const _group& group) {
  for (_proc* process : members(group)) {
    if (--process->p_refcount > 0 || (process->p_mode & LAM_PCLIENT) == 0) continue;
    const std::string number = std::to_string(process->p_gps.gps_pid);
    if (lam_procfree(process) != 0) ssi::print_error("the rpi module cannot finalise process " + number);
  }
}

}  // namespace openlapi::rpi

using namespace openlapi::rpi;

_proc* lam_topproc() { return list().first(); }

_proc* lam_nextproc() { return list().next(); }

int lam_nprocs() { return lam_num_procs; }

_proc* lam_procadd(_gps* gps) {
  return openlapi::ssi::catch_errors(static_cast<_proc*>(nullptr), [&] {
    _proc& process = list().add(*gps);
    show_list();
    return &process;
  });
}

_proc* lam_procfind(_gps* gps) { return list().find(*gps); }

int lam_procrm(_proc* proc) {
  if (!list().remove(proc)) return LAMERROR;
  if (proc == lam_myproc) lam_myproc = nullptr;
  show_list();
  return 0;
}

int lam_procfree(_proc* proc) {
  const bool finalised = finalize_process == nullptr || finalize_process(proc) == 0;
  // It goes in any case: nobody would come for it again.
  return lam_procrm(proc) == 0 && finalised ? 0 : LAMERROR;
}

void lam_nukeprocs() {
  while (lam_num_procs > 0) lam_procrm(lam_procs[lam_num_procs - 1]);
}

int lam_proccmp(_proc* left, _proc* right) { return compare(left->p_gps, right->p_gps); }

void lam_procsort(_proc** procs, int nprocs) {
  std::sort(procs, procs + std::max(nprocs, 0),
            [](const _proc* left, const _proc* right) { return compare(left->p_gps, right->p_gps) < 0; });
}
