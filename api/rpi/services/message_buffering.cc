// The specification's section 3.5.2 in C, and what LAM's modules use beside it.
#include <optional>

#include "api/rpi/include/rpisys.h"
#include "api/rpi/services/optional_lock.h"
#include "api/rpi/services/unexpected_messages.h"
#include "control/ssi/ssi_error.h"

namespace {

std::optional<openlapi::rpi::UnexpectedMessages> unexpected;
openlapi::rpi::OptionalMutex mutex;

}  // namespace

void openlapi::rpi::share_unexpected_messages(bool among_threads) { mutex.use(among_threads); }

int lam_ssi_rpi_cbuf_init() {
  return openlapi::ssi::catch_errors(LAMERROR, [] {
    unexpected.emplace();
    return 0;
  });
}

void lam_ssi_rpi_cbuf_end() { unexpected.reset(); }

lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_find(lam_ssi_rpi_envl* rqenv) {
  const std::lock_guard lock(mutex);
  return unexpected && rqenv != nullptr ? unexpected->find(*rqenv) : nullptr;
}

lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_find_and_remove(lam_ssi_rpi_envl* rqenv) {
  const std::lock_guard lock(mutex);
  lam_ssi_rpi_cbuf_msg* message = unexpected && rqenv != nullptr ? unexpected->find(*rqenv) : nullptr;
  if (message != nullptr) unexpected->take_out(*message);
  return message;
}

lam_ssi_rpi_cbuf_msg* lam_ssi_rpi_cbuf_append(lam_ssi_rpi_cbuf_msg* msg) {
  const std::lock_guard lock(mutex);
  if (!unexpected || msg == nullptr) return nullptr;
  return openlapi::ssi::catch_errors(static_cast<lam_ssi_rpi_cbuf_msg*>(nullptr),
                                     [&] { return &unexpected->append(*msg); });
}

void lam_ssi_rpi_cbuf_delete(lam_ssi_rpi_cbuf_msg* msg) {
  const std::lock_guard lock(mutex);
  if (unexpected && msg != nullptr) unexpected->remove(*msg);
}

int lam_ssi_rpi_envl_cmp(lam_ssi_rpi_envl* message, lam_ssi_rpi_envl* request) {
  const bool matches = message->ce_cid == request->ce_cid &&
                       (request->ce_rank == MPI_ANY_SOURCE || request->ce_rank == message->ce_rank) &&
                       (request->ce_tag == MPI_ANY_TAG || request->ce_tag == message->ce_tag);
  return matches ? 0 : 1;
}

void lam_ssi_rpi_fill_mpi_status(MPI_Request req, int source, int tag, int length) {
  req->rq_status.MPI_SOURCE = source;
  req->rq_status.MPI_TAG = tag;
  req->rq_status.st_length = length;
}
