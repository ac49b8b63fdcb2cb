#include "nic/verbs/receive_ring.h"

#include <algorithm>

#include "dataplane/base/cancellation.h"
#include "nic/verbs/job_size.h"

namespace openlapi::verbs {

int ReceiveRing::open(ibv_pd& domain, std::uint32_t slots, std::uint32_t packet, std::uint32_t header,
                      std::uint64_t bit) {
  stride_ = bytes_of_slot(packet);
  int error = memory_.open(domain, stride_ * slots);
  while (error != 0 && slots > kFewestReceiveSlots) {
    slots = std::max(slots / 2, kFewestReceiveSlots);
    error = memory_.open(domain, stride_ * slots);
  }
  if (error != 0) return error;
  is_posted_.assign(slots, 0);
  requests_.assign(slots, {});
  pieces_.assign(slots, {});
  idle_.reserve(slots);
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    const auto address = reinterpret_cast<std::uintptr_t>(packet_of(slot) - header);
    pieces_[slot] = {.addr = address, .length = header + packet, .lkey = memory_.key()};
    requests_[slot] = {.wr_id = bit | slot, .next = nullptr, .sg_list = &pieces_[slot], .num_sge = 1};
    idle_.push_back(slot);
  }
  return 0;
}

void ReceiveRing::post_idle() {
  if (idle_.empty()) return;
  for (std::size_t i = 0; i < idle_.size(); ++i) {
    requests_[idle_[i]].next = i + 1 < idle_.size() ? &requests_[idle_[i + 1]] : nullptr;
  }
  ibv_recv_wr* refused = nullptr;
  const CancellationOff off;
  if (shared_ != nullptr) {
    ibv_post_srq_recv(shared_, &requests_[idle_[0]], &refused);
  } else {
    ibv_post_recv(queue_pair_, &requests_[idle_[0]], &refused);
  }
  // What was refused stays idle: it is offered again with the next slots.
  std::size_t taken = 0;
  while (taken < idle_.size() && &requests_[idle_[taken]] != refused) is_posted_[idle_[taken++]] = 1;
  posted_ += static_cast<std::uint32_t>(taken);
  idle_.erase(idle_.begin(), idle_.begin() + static_cast<std::ptrdiff_t>(taken));
}

void ReceiveRing::forget_posted() {
  for (std::uint32_t slot = 0; slot < slots(); ++slot) {
    if (is_posted_[slot] != 0) discard(slot);
  }
}

}  // namespace openlapi::verbs
