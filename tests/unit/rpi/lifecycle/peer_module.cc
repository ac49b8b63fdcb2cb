#include "tests/unit/rpi/lifecycle/peer_module.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace openlapi::rpi {
namespace {

lam_ssi_rpi_envl wanted_by(const _req& request) { return {0, request.rq_tag, 0, request.rq_rank, request.rq_cid, 0}; }

bool is_wanted(const _req& request, lam_ssi_rpi_envl envelope) {
  lam_ssi_rpi_envl wanted = wanted_by(request);
  return (request.rq_marks & LAM_RQFDEST) != 0 && request.rq_state == LAM_RQSSTART &&
         lam_ssi_rpi_envl_cmp(&envelope, &wanted) == 0;
}

void fill(MPI_Request request, const lam_ssi_rpi_envl& envelope, int length) {
  lam_ssi_rpi_fill_mpi_status(request, envelope.ce_rank, envelope.ce_tag, length);
}

template <int kModule>
struct Functions {
  static inline Peers peers{};
  static int nothing_of(_proc**, int) { return 0; }
  static int finalize(_proc*) { return 0; }
  static int build(MPI_Request) { return 0; }
  static int start(MPI_Request, MPI_Request request) {
    peers.start(request);
    return 0;
  }
  static int advance(MPI_Request top, int) { return peers.advance(top); }
  static int destroy(MPI_Request request) {
    peers.forget(request);
    return 0;
  }
  static int iprobe(MPI_Request request) { return peers.iprobe(request); }
  static DrivenModule make() {
    lam_ssi_rpi_actions_1_1_0_t actions{};
    actions.lsra_addprocs = nothing_of;
    actions.lsra_finalize = finalize;
    actions.lsra_build = build;
    actions.lsra_start = start;
    actions.lsra_advance = advance;
    actions.lsra_destroy = destroy;
    actions.lsra_iprobe = iprobe;
    actions.lsra_tv_queue_support = 1;
    peers = {};
    return {.name = "peers" + std::to_string(kModule), .actions = actions};
  }
};

}  // namespace

Peers& peers(int module) { return module == 0 ? Functions<0>::peers : Functions<1>::peers; }

DrivenModule peer_module(int module) { return module == 0 ? Functions<0>::make() : Functions<1>::make(); }

void Peers::start(MPI_Request request) {
  forget(request);  // it may have been cancelled
  if ((request->rq_marks & LAM_RQFSOURCE) != 0) return sends_.push_back(request);
  lam_ssi_rpi_envl wanted = wanted_by(*request);
  if (request->rq_type == LAM_RQIPROBE) {
    if (const lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&wanted)) {
      fill(request, message->cm_env, message->cm_env.ce_len);
      request->rq_state = LAM_RQSDONE;
    }
    return;
  }
  lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find_and_remove(&wanted);
  if (message == nullptr) return;
  const auto kept = kept_.find(message->cm_env.ce_seq);
  if (kept == kept_.end()) throw std::logic_error("a module was led to a message of another one");
  deliver(request, message->cm_env, kept->second.data());
  kept_.erase(kept);
  lam_ssi_rpi_cbuf_delete(message);
}

int Peers::advance(MPI_Request top) {
  take_in(top);
  receive_sends();
  return std::exchange(changed_, false) ? 1 : 0;
}

int Peers::iprobe(MPI_Request request) {
  lam_ssi_rpi_envl wanted = wanted_by(*request);
  const lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&wanted);
  if (message == nullptr) return 0;
  fill(request, message->cm_env, message->cm_env.ce_len);
  return 1;
}

void Peers::forget(MPI_Request request) { std::erase(sends_, request); }

// One receive for each message, the first in the list; probes see what has none.
void Peers::take_in(MPI_Request top) {
  for (; !on_the_way.empty(); on_the_way.pop_front()) {
    const Arrival& arrival = on_the_way.front();
    MPI_Request receiver = nullptr;
    std::vector<MPI_Request> probes;
    for (MPI_Request each = top; each != nullptr && receiver == nullptr; each = each->rq_next) {
      if (!is_wanted(*each, arrival.envelope)) continue;
      if (each->rq_type == LAM_RQIPROBE) probes.push_back(each);
      if (each->rq_type == LAM_RQIRECV) receiver = each;
    }
    if (receiver != nullptr) {
      deliver(receiver, arrival.envelope, arrival.data.data());
      changed_ = true;
      continue;
    }
    for (MPI_Request probe : probes) {
      fill(probe, arrival.envelope, arrival.envelope.ce_len);
      probe->rq_state = LAM_RQSDONE;
      changed_ = true;
    }
    lam_ssi_rpi_cbuf_msg message{};
    message.cm_proc = arrival.source;
    message.cm_env = arrival.envelope;
    kept_[arrival.envelope.ce_seq] = arrival.data;
    lam_ssi_rpi_cbuf_append(&message);
  }
}

bool Peers::receive_sends() {
  while (may_receive > 0 && !sends_.empty()) {
    MPI_Request send = sends_.front();
    sends_.pop_front();
    if (send->rq_state != LAM_RQSSTART) continue;  // cancelled
    --may_receive;
    receipts.emplace_back(send->rq_rank, send->rq_seq);
    send->rq_state = LAM_RQSDONE;
    changed_ = true;
  }
  return changed_;
}

void Peers::deliver(MPI_Request request, const lam_ssi_rpi_envl& envelope, const char* data) {
  const int length = std::min(envelope.ce_len, request->rq_packsize);
  if (length < envelope.ce_len) request->rq_flags |= LAM_RQFTRUNC;
  if (length > 0) std::memcpy(request->rq_packbuf, data, static_cast<std::size_t>(length));
  fill(request, envelope, length);
  request->rq_seq = envelope.ce_seq;
  request->rq_state = LAM_RQSDONE;
}

}  // namespace openlapi::rpi
