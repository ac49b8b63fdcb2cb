// All messages of an endpoint that are not done, found by id or through the queues of their peers, so that no step
// looks at more of them than it moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "dataplane/base/linked_list.h"
#include "dataplane/message/outgoing_message.h"

namespace openlapi {

// The messages to one peer. Each is in one of the first two lists.
struct OutgoingQueue {
  LinkedList<OutgoingMessage, &OutgoingMessage::in_stage> sending;   // in the order in which they entered this stage
  LinkedList<OutgoingMessage, &OutgoingMessage::in_stage> departed;  // all other stages
  // Messages that move data to the peer and of which nothing has left, by id.
  LinkedList<OutgoingMessage, &OutgoingMessage::in_unbegun> unbegun;

  std::uint64_t kept_bytes = 0;  // of all these

  bool empty() const { return sending.empty() && departed.empty(); }
};

class OutgoingMessages {
 public:
  OutgoingMessage& add(OutgoingQueue& queue, OutgoingMessage message);
  void set_stage(OutgoingQueue& queue, OutgoingMessage& message, OutgoingMessage::Stage stage);
  // The message's first record has left.
  void begin(OutgoingQueue& queue, OutgoingMessage& message);
  void remove(OutgoingQueue& queue, OutgoingMessage& message);

  OutgoingMessage* find(std::uint32_t id) {
    const auto found = by_id_.find(id);
    return found != by_id_.end() ? &found->second : nullptr;
  }
  // A message whose packets point to `address`; null: there is none.
  const OutgoingMessage* sent_from(const void* address) const;
  // Whether one that began before the message of that number moves data out of the user's memory to a peer, and may
  // have to read it again.
  bool any_of_user_before(std::uint64_t number) const;
  bool empty() const { return by_id_.empty(); }
  std::size_t size() const { return by_id_.size(); }
  std::uint64_t kept_bytes() const { return kept_bytes_; }  // of all queues

 private:
  static bool moves_data(const OutgoingMessage& message) {
    return message.kind == wire::RecordKind::put || message.kind == wire::RecordKind::active_message;
  }
  static bool is_unbegun(const OutgoingMessage& message) { return !message.first_sent && moves_data(message); }

  std::unordered_map<std::uint32_t, OutgoingMessage> by_id_;
  std::uint64_t kept_bytes_ = 0;
};

}  // namespace openlapi
