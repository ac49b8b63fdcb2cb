#include "api/rpi/host/self_matching.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "api/rpi/include/mpisys.h"

namespace openlapi::rpi {
namespace {

// Longer ones are not copied: their sends end when they are received.
constexpr int kMostCopied = 65536;

lam_ssi_rpi_envl envelope_of(const _req& request) {
  return {request.rq_packsize, request.rq_tag, 0, request.rq_rank, request.rq_cid, request.rq_seq};
}

// What a receive or a probe asks for. Others' messages lie in the same queue; ours have our rank.
lam_ssi_rpi_envl wanted_by(const _req& request) {
  lam_ssi_rpi_envl wanted = envelope_of(request);
  if (wanted.ce_rank == MPI_ANY_SOURCE && request.rq_comm != nullptr) {
    wanted.ce_rank = request.rq_comm->c_group->g_myrank;
  }
  return wanted;
}

bool is_cancelled(const lam_ssi_rpi_cbuf_msg& message) {
  return message.cm_req != nullptr && message.cm_req->rq_state != LAM_RQSSTART;
}

void delete_message(lam_ssi_rpi_cbuf_msg* message) {
  if (message->cm_req != nullptr) reinterpret_cast<SelfRequest*>(message->cm_req->rq_rpi)->message = nullptr;
  lam_ssi_rpi_cbuf_delete(message);
}

}  // namespace

void SelfMatching::send(SelfRequest& send) {
  _req& request = *send.request;
  const lam_ssi_rpi_envl envelope = envelope_of(request);
  if (SelfRequest* receive = find_receive(send.wanted)) {
    forget(*receive);
    deliver(receive->request, envelope, request.rq_packbuf);
    done(&request);
    return;
  }
  keep(send);
  answer_probes();
}

void SelfMatching::keep(SelfRequest& send) {
  _req& request = *send.request;
  const bool is_copied = request.rq_type != LAM_RQISSEND && request.rq_packsize <= kMostCopied;
  lam_ssi_rpi_cbuf_msg message{};
  message.cm_proc = lam_myproc;
  message.cm_env = envelope_of(request);
  message.cm_buf = request.rq_packbuf;
  message.cm_dont_delete = is_copied ? 0 : 1;
  message.cm_req = is_copied ? nullptr : &request;
  if (is_copied) {
    const auto size = static_cast<std::size_t>(request.rq_packsize);
    message.cm_buf = static_cast<char*>(std::malloc(std::max<std::size_t>(size, 1)));
    if (message.cm_buf == nullptr) throw std::bad_alloc();
    if (size > 0) std::memcpy(message.cm_buf, request.rq_packbuf, size);
  }
  lam_ssi_rpi_cbuf_msg* kept = lam_ssi_rpi_cbuf_append(&message);
  if (kept == nullptr) {
    if (is_copied) std::free(message.cm_buf);
    throw std::bad_alloc();
  }
  if (is_copied) return done(&request);
  send.message = kept;
}

void SelfMatching::receive(SelfRequest& receive) {
  lam_ssi_rpi_envl wanted = wanted_by(*receive.request);
  lam_ssi_rpi_cbuf_msg* message = find_message(wanted);
  if (message == nullptr) {
    receive.order = next_order_++;
    list_of(receive).push_back(receive);
    receive.is_posted = true;
    return;
  }
  deliver(receive.request, message->cm_env, message->cm_buf);
  if (message->cm_req != nullptr) done(message->cm_req);
  delete_message(message);
}

void SelfMatching::probe(SelfRequest& probe) {
  if (has_message(probe.request)) return done(probe.request);
  probes_.push_back(probe);
  probe.is_posted = true;
}

bool SelfMatching::has_message(MPI_Request probe) {
  lam_ssi_rpi_envl wanted = wanted_by(*probe);
  const lam_ssi_rpi_cbuf_msg* message = find_message(wanted);
  if (message == nullptr) return false;
  const lam_ssi_rpi_envl& found = message->cm_env;
  lam_ssi_rpi_fill_mpi_status(probe, found.ce_rank, found.ce_tag, found.ce_len);
  return true;
}

void SelfMatching::forget(SelfRequest& request) {
  if (request.message != nullptr) delete_message(request.message);
  if (!request.is_posted) return;
  request.is_posted = false;
  List& list = list_of(request);
  list.remove(request);
  if (&list != &probes_ && list.empty()) receives_.erase(request.wanted);
}

bool SelfMatching::take_change() { return std::exchange(changed_, false); }

SelfRequest* SelfMatching::find_receive(const Wanted& message) {
  SelfRequest* first = nullptr;
  for (const Wanted& way : ways_to_ask_for(message)) {
    const auto found = receives_.find(way);
    SelfRequest* each = found == receives_.end() ? nullptr : found->second.first();
    while (each != nullptr && !each->is_open()) {
      SelfRequest* next = List::next(*each);
      forget(*each);  // with the last one the list is gone
      each = next;
    }
    if (each != nullptr && (first == nullptr || each->order < first->order)) first = each;
  }
  return first;
}

void SelfMatching::answer_probes() {
  for (SelfRequest* each = probes_.first(); each != nullptr;) {
    SelfRequest* next = List::next(*each);
    const bool found = each->is_open() && has_message(each->request);
    if (found) done(each->request);
    if (!each->is_open()) forget(*each);
    each = next;
  }
}

lam_ssi_rpi_cbuf_msg* SelfMatching::find_message(lam_ssi_rpi_envl& wanted) {
  for (;;) {
    lam_ssi_rpi_cbuf_msg* message = lam_ssi_rpi_cbuf_find(&wanted);
    if (message == nullptr || !is_cancelled(*message)) return message;
    delete_message(message);
  }
}

void SelfMatching::deliver(MPI_Request receive, const lam_ssi_rpi_envl& envelope, const char* data) {
  const int length = std::min(envelope.ce_len, receive->rq_packsize);
  if (length < envelope.ce_len) receive->rq_flags |= LAM_RQFTRUNC;
  if (length > 0) std::memcpy(receive->rq_packbuf, data, static_cast<std::size_t>(length));
  lam_ssi_rpi_fill_mpi_status(receive, envelope.ce_rank, envelope.ce_tag, length);
  receive->rq_seq = envelope.ce_seq;
  receive->rq_proc = lam_myproc;
  done(receive);
}

void SelfMatching::done(MPI_Request request) {
  request->rq_state = LAM_RQSDONE;
  changed_ = true;
}

SelfMatching::List& SelfMatching::list_of(const SelfRequest& request) {
  return request.request->rq_type == LAM_RQIPROBE ? probes_ : receives_[request.wanted];
}

}  // namespace openlapi::rpi
