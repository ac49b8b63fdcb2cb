#include "nic/verbs/inline_limit.h"

#include <cerrno>
#include <utility>

namespace openlapi::verbs {
namespace {

QueuePair attempt(ibv_pd& domain, const ibv_qp_init_attr& wanted, std::uint32_t bytes, ibv_qp_init_attr& granted) {
  granted = wanted;
  granted.cap.max_inline_data = bytes;
  errno = 0;
  QueuePair made(ibv_create_qp(&domain, &granted));
  if (!made && errno == 0) errno = EINVAL;
  return made;
}

}  // namespace

// Halves the distance between what was taken and what was refused. An attempt that finds no memory says nothing of the
// limit: what was taken before serves this once, and the next queue pair looks again.
QueuePair InlineLimit::make(ibv_pd& domain, ibv_qp_init_attr& wanted) {
  ibv_qp_init_attr granted{};
  QueuePair best = attempt(domain, wanted, bytes_, granted);
  if (!best && bytes_ != 0 && errno != ENOMEM) {
    std::uint32_t refused = bytes_;
    std::uint32_t taken = 0;
    best = attempt(domain, wanted, 0, granted);
    bool found = best != nullptr;
    while (found && taken + 1 < refused) {
      const std::uint32_t middle = taken + (refused - taken) / 2;
      ibv_qp_init_attr other{};
      QueuePair made = attempt(domain, wanted, middle, other);
      if (made) {
        best = std::move(made);
        granted = other;
        taken = middle;
      } else if (errno != ENOMEM) {
        refused = middle;
      } else {
        found = false;
      }
    }
    if (found) bytes_ = taken;
  }
  if (best) wanted = granted;
  return best;
}

}  // namespace openlapi::verbs
