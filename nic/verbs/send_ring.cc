#include "nic/verbs/send_ring.h"

#include <endian.h>

#include "dataplane/base/cancellation.h"
#include "dataplane/base/check.h"

namespace openlapi::verbs {

int SendRing::open(ibv_pd& domain, std::uint32_t slots, std::uint32_t packet, std::uint64_t first) {
  OPENLAPI_CHECK(slots >= kFewestSlots && first % kSignalEvery == 0);
  next_ = done_ = first;
  slots_ = slots;
  stride_ = packet;
  for (std::uint32_t i = 0; i < kMaxBurst; ++i) {
    requests_[i].sg_list = pieces_[i].data();
  }
  return memory_.open(domain, stride_ * slots);
}

void SendRing::append(const OutgoingPacket& packet, const Destination& destination, std::uint32_t immediate) {
  ibv_send_wr& request = requests_[chained_];
  std::array<ibv_sge, kMaxPieces>& pieces = pieces_[chained_];
  request.wr_id = next_;
  request.send_flags = (next_ + 1) % kSignalEvery == 0 ? IBV_SEND_SIGNALED : 0;
  request.num_sge = 0;
  request.opcode = immediate == 0 ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
  request.imm_data = htobe32(immediate);
  if (packet.length <= inline_bytes_ && packet.pieces.size() <= inline_pieces_) {
    request.send_flags |= IBV_SEND_INLINE;
    ++inline_sends_;
    for (const ConstBuffer& piece : packet.pieces) {
      if (piece.length == 0) continue;  // a length of 0 means 2 GiB to some adapters
      pieces[static_cast<std::size_t>(request.num_sge++)] = {.addr = reinterpret_cast<std::uintptr_t>(piece.data),
                                                             .length = static_cast<std::uint32_t>(piece.length),
                                                             .lkey = 0};
    }
  } else if (packet.length != 0) {
    gather(packet, pieces[0]);
    request.num_sge = 1;
  }
  request.wr.ud = {.ah = destination.handle, .remote_qpn = destination.queue_pair, .remote_qkey = destination.qkey};
  if (chained_ != 0) requests_[chained_ - 1].next = &request;
  request.next = nullptr;
  ++chained_;
  ++next_;
}

// The first request of an empty chain, whose one piece is copied.
[[gnu::always_inline]] inline bool SendRing::post_one(ibv_qp& queue_pair, ibv_send_wr& request) {
  OPENLAPI_CHECK(chained_ == 0);
  request.wr_id = next_;
  request.next = nullptr;
  request.num_sge = 1;
  request.send_flags = IBV_SEND_INLINE | ((next_ + 1) % kSignalEvery == 0 ? IBV_SEND_SIGNALED : 0);
  ibv_send_wr* refused = nullptr;
  const CancellationOff off;
  if (ibv_post_send(&queue_pair, &request, &refused) != 0) [[unlikely]]
    return false;
  ++next_;
  return true;
}

bool SendRing::post_alone(ibv_qp& queue_pair, const OutgoingPacket& packet, const Destination& destination) {
  pieces_[0][0] = {.addr = reinterpret_cast<std::uintptr_t>(packet.pieces[0].data), .length = packet.length, .lkey = 0};
  ibv_send_wr& request = requests_[0];
  request.opcode = IBV_WR_SEND;
  request.wr.ud = {.ah = destination.handle, .remote_qpn = destination.queue_pair, .remote_qkey = destination.qkey};
  if (!post_one(queue_pair, request)) [[unlikely]]
    return false;
  ++inline_sends_;
  return true;
}

bool SendRing::post_write(ibv_qp& queue_pair, std::span<const std::byte> bytes, std::uint64_t address,
                          std::uint32_t key) {
  pieces_[0][0] = {.addr = reinterpret_cast<std::uintptr_t>(bytes.data()),
                   .length = static_cast<std::uint32_t>(bytes.size()),
                   .lkey = 0};
  ibv_send_wr& request = requests_[0];
  request.opcode = IBV_WR_RDMA_WRITE;
  request.wr.rdma = {.remote_addr = address, .rkey = key};
  return post_one(queue_pair, request);
}

void SendRing::gather(const OutgoingPacket& packet, ibv_sge& piece) {
  std::byte* const slot = memory_.data() + next_ % slots_ * stride_;
  copy_pieces(slot, packet.pieces);
  piece = {.addr = reinterpret_cast<std::uintptr_t>(slot), .length = packet.length, .lkey = memory_.key()};
}

std::uint32_t SendRing::post(ibv_qp& queue_pair) {
  if (chained_ == 0) return 0;
  ibv_send_wr* refused = nullptr;
  std::uint32_t lost = 0;
  const CancellationOff off;
  if (ibv_post_send(&queue_pair, &requests_[0], &refused) != 0 && refused != nullptr) [[unlikely]] {
    lost = chained_ - static_cast<std::uint32_t>(refused - &requests_[0]);
    next_ -= lost;
  }
  chained_ = 0;
  return lost;
}

void SendRing::complete(std::uint64_t number) {
  if (number >= done_ && number < next_) done_ = number + 1;
}

std::uint64_t SendRing::forget_posted() {
  const std::uint64_t pending = next_ - done_;
  done_ = next_;
  return pending;
}

}  // namespace openlapi::verbs
