// One end of a reliable connection. The reading end posts RDMA READs; the other end only has to be there.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// Of one adapter and port; the same for all connections of a transport.
struct ReliableSetting {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;
  std::uint32_t port = 1;
  std::uint8_t reads = 1;          // most that the adapter has under way, each as reader and as the one who is read
  std::uint32_t queue_length = 1;  // reads that can be posted to one queue pair
};

// What one end must know of the other.
struct ReliablePeer {
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint32_t mtu = 0;   // bytes, of the way
  std::uint8_t reads = 1;  // that both ends agree on
  ibv_ah_attr route{};
};

class ReliableQueuePair {
 public:
  // In the state in which it has a number and can be connected. Null, and errno: the adapter refuses.
  static std::unique_ptr<ReliableQueuePair> make(const ReliableSetting& setting);

  // Ready to be read through, and to read. 0, or the error number.
  int connect(const ReliablePeer& peer);

  // 0, or the error number: then nothing will complete.
  int read(std::uint64_t number, const ibv_sge& local, std::uint64_t remote_address, std::uint32_t remote_key);

  // Nothing reads or writes memory through it any more; what was posted completes with an error.
  void stop();

  std::uint32_t number() const { return queue_pair_->qp_num; }
  std::uint32_t first_packet() const { return first_packet_; }
  ibv_qp* queue_pair() const { return queue_pair_.get(); }

 private:
  QueuePair queue_pair_;
  std::uint32_t first_packet_ = 0;
};

}  // namespace openlapi::verbs
