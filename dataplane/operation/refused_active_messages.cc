// Messages that their header handlers have refused so far: copied, and offered again.
#include <algorithm>
#include <cstring>
#include <utility>

#include "dataplane/layout/guarded_copy.h"
#include "dataplane/message/served_packet.h"
#include "dataplane/operation/active_messages.h"
#include "dataplane/tuning.h"

namespace openlapi {

// False: it is more than the peer may have here.
bool ActiveMessages::keep_waiting(const WholeMessage& message) {
  const auto* header = static_cast<const std::byte*>(message.user_header);
  const std::uint64_t bytes = message.user_header_length + (message.data != nullptr ? message.length : 0);
  const bool own = means_.peers.is_self(message.source);
  Peer* const from = own ? nullptr : means_.peers.find(message.source);
  if (from != nullptr && !means_.dropped.may_keep(*from, bytes)) return false;
  WaitingMessage waiting{.source = message.source,
                         .body = message.body,
                         .user_header = {header, header + message.user_header_length},
                         .length = message.length,
                         .number = own ? means_.refused.next_own_number() : message.number,
                         .vector = message.vector,
                         .in_atoms = message.in_atoms};
  copy_data(message, waiting);
  if (from != nullptr) waiting.kept = {from->kept, bytes};
  means_.refused.add(std::move(waiting));
  return true;
}

void ActiveMessages::copy_data(const WholeMessage& message, WaitingMessage& waiting) {
  const auto* data = static_cast<const std::byte*>(message.data);
  if (message.source_layout == nullptr) {
    if (data != nullptr) waiting.data.assign(data, data + message.length);
    return;
  }
  waiting.data.resize(message.length);
  message.source_layout->seek(0);
  if (!means_.guard.is_guarded(*message.source_layout)) {
    message.source_layout->gather(waiting.data.data(), message.length);
  } else if (!gather_or_zero(*message.source_layout, waiting.data.data(), message.length)) {
    means_.host.report_fault(message.vector ? Fault::origin_vector : Fault::program_memory, message.source);
  }
}

// Whenever something arrives, and at least every kRetryRefused; many take turns.
unsigned ActiveMessages::retry_refused() {
  unsigned delivered = 0;
  RefusedMessages& refused = means_.refused;
  std::size_t turns = std::min(refused.size(), tuning::kRetriesPerStep);
  refused.offered(turns);
  for (; turns != 0 && !refused.empty(); --turns) {  // handlers may purge peers, whose messages are gone then
    WaitingMessage waiting = refused.take_oldest();
    const MovedMessage moved(&waiting);
    if (waiting.is_long ? retry_long(waiting) : retry(waiting)) {
      ++delivered;
      refused.ended(waiting);
    } else {
      refused.put_back(std::move(waiting));
    }
  }
  return delivered;
}

bool ActiveMessages::retry(WaitingMessage& waiting) {
  return deliver_whole({.source = waiting.source,
                        .body = waiting.body,
                        .user_header = waiting.user_header.data(),
                        .user_header_length = static_cast<std::uint32_t>(waiting.user_header.size()),
                        .data = waiting.data.data(),
                        .length = waiting.length,
                        .one_packet = true,
                        .number = waiting.number,
                        .vector = waiting.vector,
                        .in_atoms = waiting.in_atoms});
}

bool ActiveMessages::retry_long(WaitingMessage& waiting) {
  Peer& from = means_.peers.at(waiting.source);
  if (!from.incoming.contains(waiting.message_id)) return true;
  HeaderVerdict verdict =
      ask_header_handler({.source = waiting.source,
                          .body = waiting.body,
                          .user_header = waiting.user_header.data(),
                          .user_header_length = static_cast<std::uint32_t>(waiting.user_header.size()),
                          .data = nullptr,
                          .length = waiting.length,
                          .one_packet = false,
                          .vector = waiting.vector,
                          .in_atoms = waiting.in_atoms});
  if (verdict.delivery == Delivery::drop) return false;
  go_on(from, waiting, from.incoming.at(waiting.message_id), std::move(verdict));
  return true;
}

// On acceptance what has come so far moves to where the handler wants it, and the rest goes there directly. Of a
// message that is read from the source's memory nothing has come so far.
void ActiveMessages::go_on(Peer& from, const WaitingMessage& waiting, IncomingMessage& message, HeaderVerdict verdict) {
  auto& accepted = std::get<IncomingActiveMessage>(message.kind);
  accepted.refused = false;
  accepted.style = verdict.style;
  accepted.run = completion_run(waiting.source, waiting.body, verdict);
  auto* buffer = is_buried(verdict) ? nullptr : static_cast<std::byte*>(verdict.buffer);
  if (!is_buried(verdict) && verdict.layout != nullptr) {
    message.layout = std::move(verdict.layout);
    if (accepted.kept_end != 0) {
      means_.incoming.place(from, message, 0, {message.own_buffer.get(), static_cast<std::size_t>(accepted.kept_end)});
    }
  } else if (buffer != nullptr && accepted.kept_end != 0) {
    std::memcpy(buffer, message.own_buffer.get(), accepted.kept_end);
  }
  message.buffer = buffer;
  message.has_buffer = buffer != nullptr;
  message.own_buffer.reset();
  if (waiting.elsewhere.address != 0 || waiting.elsewhere.bulk) {
    return means_.reader.read(from, waiting.message_id, message, waiting.elsewhere);
  }
  if (message.received == message.total) means_.incoming.arrived(from, waiting.message_id, message, 0);
}

}  // namespace openlapi
