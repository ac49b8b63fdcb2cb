#include "api/rpi/services/unexpected_messages.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>

#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {

UnexpectedMessages::~UnexpectedMessages() {
  while (!all_.empty()) {
    Kept* kept = all_.first();
    all_.remove(*kept);
    free(kept);
  }
}

void UnexpectedMessages::free(Kept* kept) {
  if (kept->message.cm_dont_delete == 0) std::free(kept->message.cm_buf);
  delete kept;
}

lam_ssi_rpi_cbuf_msg& UnexpectedMessages::append(const lam_ssi_rpi_cbuf_msg& message) {
  static_assert(std::is_standard_layout_v<Kept>);
  const Wanted exact{message.cm_env.ce_cid, message.cm_env.ce_rank, message.cm_env.ce_tag};
  if (exact.rank == MPI_ANY_SOURCE || exact.tag == MPI_ANY_TAG) {
    throw ssi::SsiError("an unexpected message of rank " + std::to_string(exact.rank) + " with tag " +
                        std::to_string(exact.tag) + "; allowed: no wildcards");
  }
  auto kept = std::make_unique<Kept>(Kept{message});
  const auto ways = ways_to_ask_for(exact);
  // An empty list, which is left when there is no memory for the next one, is as good as none.
  List* lists[kWaysToAsk];
  for (std::size_t n = 0; n < kWaysToAsk; ++n) lists[n] = &lists_[ways[n]];
  for (std::size_t n = 0; n < kWaysToAsk; ++n) {
    kept->places[n] = {kept.get(), ways[n], {}};
    lists[n]->push_back(kept->places[n]);
  }
  all_.push_back(*kept);
  return kept.release()->message;
}

lam_ssi_rpi_cbuf_msg* UnexpectedMessages::find(const lam_ssi_rpi_envl& request) {
  const auto found = lists_.find({request.ce_cid, request.ce_rank, request.ce_tag});
  const Place* place = found == lists_.end() ? nullptr : found->second.first();
  return place == nullptr ? nullptr : &place->kept->message;
}

void UnexpectedMessages::take_out(lam_ssi_rpi_cbuf_msg& message) {
  Kept* kept = reinterpret_cast<Kept*>(&message);
  for (Place& place : kept->places) {
    const auto found = lists_.find(place.wanted);
    found->second.remove(place);
    if (found->second.empty()) lists_.erase(found);
  }
  all_.remove(*kept);
  kept->is_in = false;
}

void UnexpectedMessages::remove(lam_ssi_rpi_cbuf_msg& message) {
  Kept* kept = reinterpret_cast<Kept*>(&message);
  if (kept->is_in) take_out(message);
  free(kept);
}

}  // namespace openlapi::rpi
