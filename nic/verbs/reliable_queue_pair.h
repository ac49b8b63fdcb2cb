// One end of a reliable connection. One end posts RDMA READs or packets; the other end only has to be there.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/verbs/connection_message.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// Of one adapter and port; the same for all connections of a transport that have one purpose.
struct ReliableSetting {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;  // of what is posted
  ibv_cq* arrivals = nullptr;     // null: nothing arrives
  ibv_srq* shared = nullptr;      // where packets arrive; null: none do
  std::uint32_t port = 1;
  ConnectionMessage::Purpose purpose = ConnectionMessage::Purpose::reads;
  std::uint8_t reads = 1;          // most that the adapter has under way, each as reader and as the one who is read
  std::uint32_t queue_length = 1;  // requests that can be posted to one queue pair
  std::uint32_t pieces = 1;        // of memory, in a request
  std::uint32_t inline_bytes = 0;  // wanted
};

// What one end must know of the other.
struct ReliablePeer {
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint32_t mtu = 0;   // bytes, of the path
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

  // Nothing reads or writes memory through it any more; what was posted completes with an error. 0, or the error
  // number: then it goes on.
  int stop();

  std::uint32_t number() const { return queue_pair_->qp_num; }
  std::uint32_t inline_bytes() const { return inline_bytes_; }  // granted
  std::uint32_t first_packet() const { return first_packet_; }
  ibv_qp* queue_pair() const { return queue_pair_.get(); }

 private:
  bool create(const ReliableSetting& setting);

  QueuePair queue_pair_;
  std::uint32_t first_packet_ = 0;
  std::uint32_t inline_bytes_ = 0;
};

}  // namespace openlapi::verbs
