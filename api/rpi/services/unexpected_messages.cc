#include "api/rpi/services/unexpected_messages.h"

#include <cstdlib>
#include <memory>
#include <string>
#include <type_traits>

#include "control/ssi/ssi_error.h"

namespace openlapi::rpi {
namespace {

constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;  // the golden ratio: spreads neighbouring numbers

}  // namespace

std::size_t UnexpectedMessages::Hash::operator()(const Pattern& pattern) const {
  std::uint64_t mixed = 0;
  for (const std::int32_t part : {pattern.context, pattern.rank, pattern.tag}) {
    mixed = (mixed ^ static_cast<std::uint32_t>(part)) * kMix;
    mixed ^= mixed >> 32;
  }
  return static_cast<std::size_t>(mixed);
}

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
  const auto [context, rank, tag] = Pattern{message.cm_env.ce_cid, message.cm_env.ce_rank, message.cm_env.ce_tag};
  if (rank == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) {
    throw ssi::SsiError("an unexpected message of rank " + std::to_string(rank) + " with tag " + std::to_string(tag) +
                        "; allowed: no wildcards");
  }
  auto kept = std::make_unique<Kept>(Kept{message});
  const Pattern patterns[] = {{context, rank, tag}, {context, rank}, {context, MPI_ANY_SOURCE, tag}, {context}};
  // An empty list, which is left when there is no memory for the next one, is as good as none.
  List* lists[4];
  for (std::size_t n = 0; n < 4; ++n) lists[n] = &lists_[patterns[n]];
  for (std::size_t n = 0; n < 4; ++n) {
    kept->places[n] = {kept.get(), patterns[n], {}};
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
    const auto found = lists_.find(place.pattern);
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
