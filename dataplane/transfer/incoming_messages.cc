#include "dataplane/transfer/incoming_messages.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/layout/guarded_copy.h"

namespace openlapi {

void IncomingMessages::begin(Peer& from, const wire::Record& record, IncomingMessage message) {
  const std::uint32_t id = record.extension.message_id;
  IncomingMessage* const begun = add(from, id, std::move(message));
  if (begun == nullptr) return;
  IncomingMessage& stored = *begun;
  if (IncomingOperation* const operation = stored.operation()) operation->number = ++from.messages_begun;
  if (record.is_attach()) {
    stored.elsewhere = true;
    if (stored.refused() == nullptr) reader_.read(from, id, stored, DataElsewhere::of(record));
    return;
  }
  if (stored.layout != nullptr) {
    place(from, stored, 0, {record.payload, record.header.payload_length});
  } else if (stored.has_buffer && record.header.payload_length != 0) {
    std::memcpy(stored.buffer, record.payload, record.header.payload_length);
  }
  if (IncomingActiveMessage* const refused = stored.refused()) refused->kept_end = record.header.payload_length;
  arrived(from, id, stored, record.header.payload_length);
}

IncomingMessage* IncomingMessages::add(Peer& from, std::uint32_t id, IncomingMessage message) {
  if (from.incoming.contains(id)) {
    statistics_.ghost();
    return nullptr;
  }
  if (!dropped_.may_keep(from, 0)) return nullptr;
  if (!message.kept.counts()) message.kept = {from.kept, 0};
  return &from.incoming.emplace(id, std::move(message)).first->second;
}

void IncomingMessages::on_data(Peer& from, const wire::Record& record) {
  const auto body = wire::body_of<wire::DataBody>(record);
  IncomingMessage* const found = find(from, body.message_id);
  if (found == nullptr) return statistics_.ghost();
  IncomingMessage& message = *found;
  const std::uint64_t length = record.header.payload_length;
  if (body.offset > message.total || length > message.total - body.offset || message.elsewhere) {
    return statistics_.ghost();
  }
  if (length > message.total - message.received) return statistics_.ghost();
  if (message.layout != nullptr) [[unlikely]] {
    place(from, message, body.offset, {record.payload, record.header.payload_length});
  } else if (message.has_buffer) {
    std::memcpy(message.buffer + body.offset, record.payload, length);
  }
  if (IncomingActiveMessage* const refused = message.refused()) {
    refused->kept_end = std::max(refused->kept_end, body.offset + length);
  }
  arrived(from, body.message_id, message, length);
}

bool IncomingMessages::awaits_data(Peer& from, std::uint32_t id) {
  IncomingMessage* const message = find(from, id);
  if (message == nullptr || message->elsewhere || message->refused() != nullptr) return false;
  return message->layout == nullptr || message->layout->expect_any_order();
}

void IncomingMessages::arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes) {
  message.received += bytes;
  if (message.received != message.total || message.refused() != nullptr) return;
  IncomingMessage done = std::move(message);
  from.incoming.erase(id);
  end_.message_complete(from, std::move(done));
}

void IncomingMessages::place(Peer& from, IncomingMessage& message, std::uint64_t offset,
                             std::span<const std::byte> data) {
  if (guard_.scatter(*message.layout, offset, data)) return;
  message.layout = nowhere();
  const IncomingOperation* const operation = message.operation();
  const bool vector = operation != nullptr && operation->vector;
  host_.report_fault(vector ? Fault::target_vector : Fault::program_memory, from.index);
}

}  // namespace openlapi
