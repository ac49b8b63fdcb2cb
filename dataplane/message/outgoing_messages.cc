#include "dataplane/message/outgoing_messages.h"

#include <algorithm>
#include <utility>

namespace openlapi {

namespace {

auto& list_of(OutgoingQueue& queue, OutgoingMessage::Stage stage) {
  return stage == OutgoingMessage::Stage::sending ? queue.sending : queue.departed;
}

}  // namespace

OutgoingMessage& OutgoingMessages::add(OutgoingQueue& queue, OutgoingMessage message) {
  const std::uint32_t id = message.id;
  OutgoingMessage& stored = by_id_.emplace(id, std::move(message)).first->second;
  list_of(queue, stored.stage).push_back(stored);
  if (is_unbegun(stored)) queue.unbegun.push_back(stored);
  queue.kept_bytes += stored.kept_bytes;
  kept_bytes_ += stored.kept_bytes;
  return stored;
}

void OutgoingMessages::set_stage(OutgoingQueue& queue, OutgoingMessage& message, OutgoingMessage::Stage stage) {
  list_of(queue, message.stage).remove(message);
  message.stage = stage;
  list_of(queue, stage).push_back(message);
}

void OutgoingMessages::begin(OutgoingQueue& queue, OutgoingMessage& message) {
  if (is_unbegun(message)) queue.unbegun.remove(message);
  message.first_sent = true;
}

void OutgoingMessages::remove(OutgoingQueue& queue, OutgoingMessage& message) {
  if (is_unbegun(message)) queue.unbegun.remove(message);
  list_of(queue, message.stage).remove(message);
  queue.kept_bytes -= message.kept_bytes;
  kept_bytes_ -= message.kept_bytes;
  by_id_.erase(message.id);
}

const OutgoingMessage* OutgoingMessages::sent_from(const void* address) const {
  const auto place = reinterpret_cast<std::uintptr_t>(address);
  const auto found = std::find_if(by_id_.begin(), by_id_.end(), [place](const auto& entry) {
    const OutgoingMessage& message = entry.second;
    return message.referenced && place - reinterpret_cast<std::uintptr_t>(message.data) < message.total;
  });
  return found != by_id_.end() ? &found->second : nullptr;
}

bool OutgoingMessages::any_of_user_before(std::uint64_t number) const {
  return std::ranges::any_of(by_id_, [number](const auto& entry) {
    const OutgoingMessage& message = entry.second;
    return message.number < number && moves_data(message) && message.copy == nullptr;
  });
}

}  // namespace openlapi
