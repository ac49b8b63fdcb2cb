// One end of a reliable connection. One end posts RDMA READs or packets; the other end only has to exist.
#pragma once

#include <cstdint>
#include <memory>

#include "nic/verbs/connection_message.h"
#include "nic/verbs/inline_limit.h"
#include "nic/verbs/slow_destruction.h"
#include "nic/verbs/verbs_address.h"
#include "nic/verbs/verbs_objects.h"

namespace openlapi::verbs {

// What the port's tables have of a transport.
struct PortPlace {
  std::uint32_t port = 1;
  std::uint16_t partition_index = 0;
};

// For one adapter and port; the same for all of a transport's connections of one purpose.
struct ReliableSetting {
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_cq* completions = nullptr;  // of what is posted here
  ibv_cq* arrivals = nullptr;     // null: nothing arrives
  ibv_srq* shared = nullptr;      // the shared queue that packets arrive in; null: none arrive
  PortPlace place{};
  ConnectionMessage::Purpose purpose = ConnectionMessage::Purpose::reads;
  std::uint8_t reads = 1;                  // most READs at a time, both as reader and as the one that is read
  std::uint32_t queue_length = 1;          // requests that can be posted to one queue pair
  std::uint32_t pieces = 1;                // pieces of memory in a request
  unsigned rights = 0;                     // of the peer, to memory whose key it knows
  std::uint32_t told_key = 0;              // of that memory, for peers that ask for a connection to read a few bytes
  InlineLimit inline_limit{};              // of bytes; inline_bytes() says what was granted
  SlowDestruction* destruction = nullptr;  // where queue pairs go at their end; null: they are destroyed at once
};

// What one end must know about the other.
struct ReliablePeer {
  std::uint32_t queue_pair = 0;
  std::uint32_t first_packet = 0;
  std::uint32_t mtu = 0;   // bytes, of the path
  std::uint8_t reads = 1;  // the number that both ends have agreed on
  ibv_ah_attr route{};
};

class ReliableQueuePair {
 public:
  ReliableQueuePair() = default;
  // Stops it, and leaves it to the setting's `destruction`; destroys it where there is none, or it cannot be stopped.
  ~ReliableQueuePair();
  ReliableQueuePair(const ReliableQueuePair&) = delete;
  ReliableQueuePair& operator=(const ReliableQueuePair&) = delete;

  // In the state in which it has a number and can be connected. Null, and errno: the adapter refuses. What was found
  // out about the adapter stays in `setting`.
  static std::unique_ptr<ReliableQueuePair> make(ReliableSetting& setting);

  // After this it can read and be read. Returns 0 or an errno value.
  int connect(const ReliablePeer& peer);

  // Returns 0 or an errno value; after an error nothing will complete.
  int read(std::uint64_t number, const ibv_sge& local, std::uint64_t remote_address, std::uint32_t remote_key);

  // From now on nothing reads or writes memory through it; what was posted completes with an error. Returns 0, or an
  // errno value and then it keeps running.
  int stop();

  // When its end comes: the adapter has requests that must not touch memory afterwards.
  void destroy_at_once() { destruction_ = nullptr; }

  std::uint32_t number() const { return queue_pair_->qp_num; }
  std::uint32_t inline_bytes() const { return inline_bytes_; }  // granted
  std::uint32_t first_packet() const { return first_packet_; }
  ibv_qp* queue_pair() const { return queue_pair_.get(); }

 private:
  bool create(ReliableSetting& setting);

  QueuePair queue_pair_;
  SlowDestruction* destruction_ = nullptr;
  bool stopped_ = false;
  std::uint32_t first_packet_ = 0;
  std::uint32_t inline_bytes_ = 0;
};

}  // namespace openlapi::verbs
