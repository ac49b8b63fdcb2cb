#include "api/rpi/lapi/fast_messages.h"

#include <cerrno>
#include <new>

#include "api/rpi/include/mpisys.h"

namespace openlapi::rpi {
namespace {

// nullptr: the rank is none.
_proc* process_of(const _comm& communicator, int rank) {
  const bool remote = (communicator.c_flags & LAM_CINTER) != 0;
  const _group& group = remote ? *communicator.c_rgroup : *communicator.c_group;
  return rank < 0 || rank >= group.g_nprocs ? nullptr : group.g_procs[rank];
}

// Whether the data lie in the buffer as they travel.
bool is_plain(const FastOperation& operation) {
  const _dtype* type = operation.type;
  if (type == nullptr || type->dt_commit == 0 || operation.count < 0) return false;
  const std::int64_t size = std::int64_t{operation.count} * type->dt_size;
  if (size == 0) return true;
  const bool in_order = (type->dt_flags & LAM_DTNOXADJ) != 0 || operation.count == 1;
  return (type->dt_flags & LAM_DTNOPACK) != 0 && in_order && size <= INT32_MAX && operation.buffer != nullptr;
}

int leave_to_requests() {
  errno = EBUSY;
  return LAMERROR;
}

}  // namespace

bool FastMessages::prepare(const FastOperation& operation, int type) {
  if (!is_plain(operation) || !layer_.is_homogeneous()) return false;
  _proc* const process = process_of(*operation.comm, operation.peer);
  if (peer_state_of(process) == nullptr) return false;
  if (request_.rq_rpi == nullptr && engine_.build(&request_) != 0) return false;
  request_.rq_type = type;
  request_.rq_flags = LAM_RQFBLOCK;
  request_.rq_packbuf = static_cast<char*>(operation.buffer);
  request_.rq_packsize = operation.count * operation.type->dt_size;
  request_.rq_rank = operation.peer;
  request_.rq_tag = operation.tag;
  request_.rq_comm = operation.comm;
  request_.rq_cid = operation.comm->c_contextid;
  request_.rq_proc = process;
  request_.rq_status = {operation.peer, operation.tag, MPI_SUCCESS, 0};
  return true;
}

// False: there is no memory.
bool FastMessages::advance_to_end() {
  try {
    int moved = engine_.start(&request_);
    while (moved >= 0 && request_.rq_state != LAM_RQSDONE) {
      layer_.let_checkpoint_in();
      moved = engine_.advance(&request_, true);
    }
    return moved >= 0;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void FastMessages::give_up() {
  if (request_.rq_state == LAM_RQSDONE) return;
  drop();
  layer_.request_ended();
  request_.rq_status.MPI_ERROR = layer_.error_of(MPI_ERR_NO_MEM);
}

int FastMessages::run() {
  request_.rq_state = LAM_RQSSTART;
  layer_.request_begun();
  try {
    if (!advance_to_end()) give_up();
  } catch (...) {
    give_up();
    throw;
  }
  errno = 0;  // what is said next is not EBUSY
  return request_.rq_status.MPI_ERROR;
}

void FastMessages::drop() {
  if (request_.rq_rpi != nullptr) engine_.destroy(&request_);
}

int FastMessages::send(const FastOperation& send) {
  if (!prepare(send, LAM_RQISEND)) return leave_to_requests();
  request_.rq_seq = layer_.next_number();
  return run();
}

int FastMessages::receive(const FastOperation& receive, int& tag, MPI_Status* status, int& number) {
  if (!prepare(receive, LAM_RQIRECV)) return leave_to_requests();
  request_.rq_seq = 0;
  int error = run();
  if (error == MPI_SUCCESS && (request_.rq_flags & LAM_RQFTRUNC) != 0) error = layer_.error_of(MPI_ERR_TRUNCATE);
  request_.rq_status.MPI_ERROR = error;
  tag = request_.rq_status.MPI_TAG;
  number = request_.rq_seq;
  if (status != MPI_STATUS_IGNORE) *status = request_.rq_status;
  return error;
}

}  // namespace openlapi::rpi
