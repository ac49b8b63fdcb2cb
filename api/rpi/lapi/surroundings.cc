#include "api/rpi/lapi/request_state.h"

namespace openlapi::rpi {

void Surroundings::set_outside(bool is) {
  if (!is && holds_calls()) {
    layer_.release_calls();
    holding_ = Holding::never;
  }
  outside_ = is;
}

bool Surroundings::hold_calls() {
  if (outside_ && !holds_calls()) holding_ = layer_.hold_calls();
  return holds_calls();
}

// Null: it is told at once. What follows news is news, too.
News* Surroundings::news_of(MPI_Request request) {
  RequestState& state = *request_state_of(request);
  if (!outside_ && !state.news.is_listed) return nullptr;
  if (!std::exchange(state.news.is_listed, true)) news_.push_back(state);
  return &state.news;
}

void Surroundings::tell_news() {
  while (RequestState* state = news_.first()) {
    news_.remove(*state);
    const News news = std::exchange(state->news, {});
    if (news.met) meet(state->request, *news.met);
    if (news.ending == News::Ending::done) finish(state->request);
    if (news.ending == News::Ending::peer_dead) fail_dead(state->request);
  }
}

void Surroundings::tell_message(MPI_Request request, const MetMessage& message) {
  request->rq_seq = message.number;
  request->rq_proc = message.from;
  lam_ssi_rpi_fill_mpi_status(request, message.rank, message.tag, message.length);
}

void Surroundings::meet(MPI_Request request, const MetMessage& message) {
  if (News* news = news_of(request)) {
    news->met = message;
    if (holds_calls()) request->rq_state = LAM_RQSACTIVE;  // before the program can cancel it
    return;
  }
  if (request->rq_state == LAM_RQSDONE) {  // cancelled although it could not be: too late
    request->rq_flags &= ~LAM_RQFCANCEL;
    layer_.request_begun();
  }
  if (message.truncated) request->rq_flags |= LAM_RQFTRUNC;
  tell_message(request, message);
  activate(request);
}

void Surroundings::finish(MPI_Request request) {
  if (News* news = news_of(request)) {
    news->ending = News::Ending::done;
    return;
  }
  request->rq_state = LAM_RQSDONE;
  layer_.request_ended();
  changed_ = true;
}

void Surroundings::fail_dead(MPI_Request request) {
  if (News* news = news_of(request)) {
    news->ending = News::Ending::peer_dead;
    return;
  }
  const bool remote = (request->rq_comm->c_flags & LAM_CINTER) != 0;
  request->rq_status.MPI_ERROR = layer_.error_of(remote ? MPI_ERR_REMOTEDEAD : MPI_ERR_LOCALDEAD);
  finish(request);
}

}  // namespace openlapi::rpi
