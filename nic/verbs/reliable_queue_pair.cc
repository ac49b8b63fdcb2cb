#include "nic/verbs/reliable_queue_pair.h"

#include <sys/random.h>

#include <cerrno>
#include <utility>

#include "dataplane/base/cancellation.h"

namespace openlapi::verbs {
namespace {

// 268 ms, longer with some adapters, and 7 attempts: a peer that is gone is known after some seconds.
// With 7 retries soft-RoCE tries for ever; and its other end drops a repeated READ that it has begun to answer, so a
// read may be lost there for good.
constexpr std::uint8_t kTimeout = 16;
constexpr std::uint8_t kRetries = 6;
constexpr std::uint8_t kReceiverRetries = 7;
constexpr std::uint8_t kReceiverTimer = 12;  // 0.64 ms, for which who has no room for packets sends them away

ibv_mtu mtu_of(std::uint32_t bytes) {
  return bytes >= 4096 ? IBV_MTU_4096 : bytes >= 2048 ? IBV_MTU_2048 : IBV_MTU_1024;
}

}  // namespace

bool ReliableQueuePair::create(ReliableSetting& setting) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = setting.completions;
  wanted.recv_cq = setting.arrivals != nullptr ? setting.arrivals : setting.completions;
  wanted.srq = setting.shared;
  wanted.qp_type = IBV_QPT_RC;
  wanted.sq_sig_all = setting.purpose != ConnectionMessage::Purpose::packets;
  wanted.cap = {.max_send_wr = setting.queue_length,
                .max_recv_wr = setting.shared == nullptr ? 1u : 0u,
                .max_send_sge = setting.pieces,
                .max_recv_sge = setting.shared == nullptr ? 1u : 0u,
                .max_inline_data = 0};
  queue_pair_ = setting.inline_limit.make(*setting.domain, wanted);
  if (!queue_pair_) return false;
  destruction_ = setting.destruction;
  inline_bytes_ = wanted.cap.max_inline_data;
  return true;
}

ReliableQueuePair::~ReliableQueuePair() {
  if (!queue_pair_ || destruction_ == nullptr) return;
  if (stopped_ || stop() == 0) destruction_->add(std::move(queue_pair_));
}

std::unique_ptr<ReliableQueuePair> ReliableQueuePair::make(ReliableSetting& setting) {
  const CancellationOff off;
  auto made = std::make_unique<ReliableQueuePair>();
  if (!made->create(setting)) return nullptr;
  if (getrandom(&made->first_packet_, sizeof made->first_packet_, 0) < 0) return nullptr;
  made->first_packet_ &= 0xffffff;
  ibv_qp_attr start{};
  start.qp_state = IBV_QPS_INIT;
  start.port_num = static_cast<std::uint8_t>(setting.place.port);
  start.pkey_index = setting.place.partition_index;
  start.qp_access_flags = setting.rights;
  const int error = ibv_modify_qp(made->queue_pair_.get(), &start,
                                  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  if (error != 0) {
    errno = error;
    return nullptr;
  }
  return made;
}

int ReliableQueuePair::connect(const ReliablePeer& peer) {
  const CancellationOff off;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_RTR;
  state.path_mtu = mtu_of(peer.mtu);
  state.dest_qp_num = peer.queue_pair;
  state.rq_psn = peer.first_packet;
  state.max_dest_rd_atomic = peer.reads;
  state.min_rnr_timer = kReceiverTimer;
  state.ah_attr = peer.route;
  int error = ibv_modify_qp(queue_pair_.get(), &state,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
  if (error != 0) return error;
  state.qp_state = IBV_QPS_RTS;
  state.sq_psn = first_packet_;
  state.timeout = kTimeout;
  state.retry_cnt = kRetries;
  state.rnr_retry = kReceiverRetries;
  state.max_rd_atomic = peer.reads;
  return ibv_modify_qp(
      queue_pair_.get(), &state,
      IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
}

int ReliableQueuePair::read(std::uint64_t number, const ibv_sge& local, std::uint64_t remote_address,
                            std::uint32_t remote_key) {
  ibv_sge piece = local;
  ibv_send_wr request{};
  request.wr_id = number;
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.wr.rdma = {.remote_addr = remote_address, .rkey = remote_key};
  ibv_send_wr* refused = nullptr;
  const CancellationOff off;
  return ibv_post_send(queue_pair_.get(), &request, &refused);
}

int ReliableQueuePair::stop() {
  const CancellationOff off;
  ibv_qp_attr state{};
  state.qp_state = IBV_QPS_ERR;
  const int error = ibv_modify_qp(queue_pair_.get(), &state, IBV_QP_STATE);
  stopped_ = error == 0;
  return error;
}

}  // namespace openlapi::verbs
