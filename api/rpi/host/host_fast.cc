// Blocking operations while no request is active, without one (rpi SSI specification, 4.12, 4.13), and what modules use
// of the MPI layer for them.
#include <algorithm>
#include <cerrno>

#include "api/rpi/host/host.h"

int lam_seqnum = 0;
int lam_homog = 1;

namespace openlapi::rpi {
namespace {

// All that the host moves without packing is bytes.
_dtype bytes() {
  _dtype type{};
  type.dt_flags = LAM_DTNOPACK | LAM_DTNOXADJ;
  type.dt_commit = type.dt_align = type.dt_upper = type.dt_size = type.dt_dataup = 1;
  return type;
}

bool is_idle(const DrivenModule* module) { return module->top == nullptr; }

}  // namespace

// False: it has to have a request. Several threads cannot use these functions (5.2).
bool Host::run_fast(const Operation& operation, MPI_Status& status) {
  const bool is_receive = operation.type == LAM_RQIRECV;
  if (mutex_.is_used() || (!is_receive && operation.type != LAM_RQISEND)) return false;
  check(operation, limits_.tag);
  if (operation.peer < 0 || !operation.layout.is_contiguous()) return false;
  const _group& group = *operation.comm->c_group;
  if (operation.peer == group.g_myrank || !divided_.empty() || !std::ranges::all_of(modules_, is_idle)) return false;
  DrivenModule* const module = module_of_(*group.g_procs[operation.peer]);
  if (module == nullptr) return false;
  static _dtype type = bytes();
  auto* const buffer = static_cast<char*>(operation.buffer);
  const int size = operation.layout.size();
  int result = LAMERROR, tag = operation.tag, number = 0;
  errno = EBUSY;
  if (is_receive && module->actions.lsra_fastrecv != nullptr) {
    errno = 0;
    result = module->actions.lsra_fastrecv(buffer, size, &type, operation.peer, &tag, operation.comm, &status, &number);
  } else if (!is_receive && module->actions.lsra_fastsend != nullptr) {
    errno = 0;
    status = {MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_SUCCESS, 0};
    result = module->actions.lsra_fastsend(buffer, size, &type, operation.peer, tag, operation.comm);
  }
  if (result != MPI_SUCCESS && errno == EBUSY) return false;  // as LAM understands it
  if (result < 0) fail(*module, is_receive ? "fastrecv" : "fastsend");
  status.MPI_ERROR = result;
  return true;
}

}  // namespace openlapi::rpi
