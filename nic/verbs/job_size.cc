#include "nic/verbs/job_size.h"

#include <algorithm>

namespace openlapi::verbs {

std::uint32_t receive_slots_for(const JobSize& job) {
  const std::uint64_t senders = job.tasks - std::min(job.tasks, job.local_tasks);
  const std::uint64_t of_node = kReceiveSlotsOfNode / std::max(job.local_tasks, 1u);
  const std::uint64_t wanted = std::min({senders * kPacketsOfSender, std::uint64_t{kMostReceiveSlots}, of_node});
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(wanted, kFewestReceiveSlots));
}

std::uint32_t packets_of_sender(std::uint32_t receive_slots, std::uint32_t senders) {
  const std::uint32_t at_once = std::clamp(senders, 1u, kSendersAtOnce);
  return std::max(receive_slots / at_once, kAnswersOfSender + 1) - kAnswersOfSender;
}

ConnectionBounds connection_bounds(const JobSize& job, std::uint32_t queue_pairs, bool one_sided) {
  const std::uint32_t local = std::max(job.local_tasks, 1u);
  const ConnectionBounds most{.one_sided = one_sided ? kOneSidedConnections : 0};
  const std::uint64_t all = most.queue_pairs() - 1;
  const std::uint64_t share = std::max(queue_pairs / 2 / local, 1u) - 1;
  const auto in_proportion = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(bound, bound * share / all));
  };
  const std::uint32_t of_node = std::max(kPacketConnectionsOfNode / local, 1u);
  const std::uint32_t packets = std::min(in_proportion(kPacketConnections), of_node);
  const std::uint32_t rings = std::min({kPacketRings, std::max(kPacketRingsOfNode / local, 1u), 2 * packets});
  return {.packets = packets,
          .bulk = in_proportion(kBulkConnections),
          .rings = rings,
          .one_sided = in_proportion(most.one_sided)};
}

}  // namespace openlapi::verbs
