// Active messages: the header handler decides where the data goes, the completion handler runs when it is there, and
// then the counters move (guide, chapter 7; decisions.md, "Completion").
#include <algorithm>
#include <cstring>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/endpoint/served_packet.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/reliability/fair_share.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

// The message's data has nowhere to go.
bool is_buried(const HeaderVerdict& verdict) {
  return verdict.delivery == Delivery::bury || (verdict.buffer == nullptr && verdict.layout == nullptr);
}

// The data goes to one buffer, and nothing is left to do then.
bool is_plain(const HeaderVerdict& verdict) {
  return verdict.delivery == Delivery::deliver && verdict.buffer != nullptr && verdict.layout == nullptr &&
         verdict.completion_handler == nullptr;
}

}  // namespace

HeaderVerdict EndpointCore::ask_header_handler(const WholeMessage& message) {
  return host_.run_header_handler({message.source, message.body.handler, message.user_header,
                                   message.user_header_length, message.length,
                                   message.one_packet ? message.data : nullptr, message.vector, message.in_atoms});
}

CompletionRun EndpointCore::completion_run(PeerIndex source, const wire::ActiveMessageBody& body,
                                           const HeaderVerdict& verdict) const {
  const std::uint32_t life = source == config_.self ? 0 : peers_[source]->life;
  return {verdict.completion_handler, verdict.completion_info, source, life,
          body.target_counter,        body.completion_counter};
}

void EndpointCore::on_active_message(Peer& from, const wire::Record& record) {
  if (record.header.user_header_length > tuning::kMaxUserHeader) [[unlikely]]
    return ghost();
  if (record.is_long()) return begin_long_message(from, record);
  const auto body = wire::body_of<wire::ActiveMessageBody>(record);
  const std::uint64_t number = ++from.messages_begun;
  const std::uint32_t length = record.header.payload_length;
  auto* const user_header = const_cast<std::byte*>(record.user_header);
  const HeaderVerdict verdict =
      host_.run_header_handler({from.index, body.handler, user_header, record.header.user_header_length, length,
                                record.payload, record.is_vector(), record.in_atoms()});
  if (is_plain(verdict)) [[likely]] {
    copy_bytes(static_cast<std::byte*>(verdict.buffer), record.payload, length);
    const CompletionRun run{nullptr, nullptr, from.index, from.life, body.target_counter, body.completion_counter};
    return data_in_place(&from, number, run, verdict.style, length);
  }
  const WholeMessage message{from.index,
                             body,
                             user_header,
                             record.header.user_header_length,
                             record.payload,
                             length,
                             true,
                             number,
                             record.is_vector(),
                             record.in_atoms()};
  if (!obey(verdict, message)) keep_waiting(message);
}

// False: the header handler dropped it.
bool EndpointCore::deliver_whole(const WholeMessage& message) { return obey(ask_header_handler(message), message); }

bool EndpointCore::obey(const HeaderVerdict& verdict, const WholeMessage& message) {
  if (verdict.delivery == Delivery::drop) return false;
  Peer* from = message.source == config_.self ? nullptr : peers_[message.source].get();
  if (!is_buried(verdict) && message.length != 0) {
    if (verdict.layout != nullptr || message.source_layout != nullptr) [[unlikely]] {
      deliver_to_layout(message, verdict);
    } else if (from != nullptr) {
      copy_bytes(static_cast<std::byte*>(verdict.buffer), static_cast<const std::byte*>(message.data), message.length);
    } else {
      std::memmove(verdict.buffer, message.data, message.length);  // a task's own memory, which may overlap
    }
  }
  data_in_place(from, message.number, completion_run(message.source, message.body, verdict), verdict.style,
                message.length);
  return true;
}

// From wherever the data lies to wherever the header handler wants it.
void EndpointCore::deliver_to_layout(const WholeMessage& message, const HeaderVerdict& verdict) {
  StridedCursor data(reinterpret_cast<std::uintptr_t>(message.data), message.length);
  StridedCursor buffer(reinterpret_cast<std::uintptr_t>(verdict.buffer), message.length);
  if (message.source_layout != nullptr) message.source_layout->seek(0);
  LayoutCursor& from = message.source_layout != nullptr ? *message.source_layout : data;
  LayoutCursor& to = verdict.layout != nullptr ? *verdict.layout : buffer;
  if (copy_guarded(from, to)) return;
  host_.report_fault(message.vector ? Fault::target_vector : Fault::program_memory, message.source);
}

// The first record of a message with further fragments, or of one that is to be read from the origin's memory.
void EndpointCore::begin_long_message(Peer& from, const wire::Record& record) {
  if (from.incoming.contains(record.extension.message_id)) return ghost();
  const WholeMessage message{from.index,
                             wire::body_of<wire::ActiveMessageBody>(record),
                             const_cast<std::byte*>(record.user_header),
                             record.header.user_header_length,
                             nullptr,
                             record.extension.total_length,
                             false,
                             0,
                             record.is_vector(),
                             record.in_atoms()};
  HeaderVerdict verdict = ask_header_handler(message);
  IncomingMessage incoming;
  incoming.kind = RecordKind::active_message;
  incoming.total = record.extension.total_length;
  incoming.vector = message.vector;
  incoming.style = verdict.style;
  incoming.run = completion_run(from.index, message.body, verdict);
  if (verdict.delivery == Delivery::drop) {
    incoming.refused = true;
    if (!record.is_attach()) {
      if (!may_keep(from, incoming.total)) return;
      incoming.kept = {from.kept, incoming.total};
      incoming.own_buffer = std::make_unique_for_overwrite<std::byte[]>(incoming.total);
      incoming.buffer = incoming.own_buffer.get();
    }
    if (!keep_waiting(message)) return;
    waiting_.back().is_long = true;
    waiting_.back().message_id = record.extension.message_id;
    if (record.is_attach()) {
      waiting_.back().attach_address = record.extension.source_address;
      waiting_.back().attach_layout = record.has_layout() ? record.extension.layout_length : 0;
      waiting_.back().bulk = record.is_bulk();
      if (record.is_bulk()) waiting_.back().key = from_wire(record.key);
    }
  } else if (!is_buried(verdict)) {
    incoming.buffer = static_cast<std::byte*>(verdict.buffer);
    incoming.layout = std::move(verdict.layout);
  }
  begin_incoming(from, record, std::move(incoming));
}

void EndpointCore::run_completion(Peer* from, const CompletionRun& run, CompletionStyle style) {
  const bool now = style == CompletionStyle::inline_local ||
                   (style == CompletionStyle::inline_reply && (from == nullptr || reply_has_room(from->index)));
  ++inline_depth_;
  const bool returned = host_.run_completion_handler(run, now);
  --inline_depth_;
  if (returned) move_counters(run);
}

void EndpointCore::keep_send_handler(PeerIndex target, const HandlerCall& handler) {
  send_completions_.push_back({handler, target});
}

// Handlers that begin operations leave further completions behind; those run in the next step, so that a task whose
// handlers keep sending comes back from here.
void EndpointCore::run_send_handlers() {
  running_completions_.swap(send_completions_);
  ++inline_depth_;
  for (const SendCompletion& completion : running_completions_) host_.run_send_handler(completion);
  --inline_depth_;
  running_completions_.clear();
}

// When the data is in place and the origin counter has moved.
void EndpointCore::run_get_handler(PeerIndex source, const HandlerCall& handler) {
  if (handler.function == nullptr) [[likely]]
    return;
  const std::uint32_t life = source == config_.self ? 0 : peers_[source]->life;
  host_.run_completion_handler({handler.function, handler.info, source, life, 0, 0}, false);
}

void EndpointCore::completion_returned(const CompletionRun& run) {
  const MovedMessage moved(&run);
  move_counters(run);
}

// The source's: it is told.
void EndpointCore::update_completion_counter(const CompletionRun& run) {
  if (run.source == config_.self) return move_counter(run.completion_counter, config_.self);
  Peer* peer = peers_[run.source].get();
  // The address belongs to the life of the source that sent the message, and to no later one.
  if (peer == nullptr || peer->life != run.source_life) return;
  answer(*peer, RecordKind::counter_update, wire::CounterUpdateBody{run.completion_counter});
}

bool EndpointCore::reply_has_room(PeerIndex index) {
  if (index == config_.self) return true;
  const Peer* peer = contact(index);
  return peer != nullptr && peer->backlog.empty() &&
         may_take(peer->copies_waiting, copies_waiting_, config_.copy_buffers);
}

// False: it is more than the peer may have here.
bool EndpointCore::keep_waiting(const WholeMessage& message) {
  const auto* header = static_cast<const std::byte*>(message.user_header);
  const auto* data = static_cast<const std::byte*>(message.data);
  const std::uint64_t bytes = message.user_header_length + (data != nullptr ? message.length : 0);
  Peer* const from = message.source == config_.self ? nullptr : peers_[message.source].get();
  if (from != nullptr && !may_keep(*from, bytes)) return false;
  WaitingMessage waiting{message.source,
                         message.body,
                         {header, header + message.user_header_length},
                         {},
                         false,
                         0,
                         message.length,
                         message.source == config_.self ? ++own_kept_ : message.number,
                         0,
                         0,
                         message.vector,
                         message.in_atoms};
  if (message.source_layout != nullptr) {
    waiting.data.resize(message.length);
    message.source_layout->seek(0);
    if (!is_guarded(*message.source_layout)) {
      message.source_layout->gather(waiting.data.data(), message.length);
    } else if (!gather_or_zero(*message.source_layout, waiting.data.data(), message.length)) {
      host_.report_fault(message.vector ? Fault::origin_vector : Fault::program_memory, message.source);
    }
  } else if (data != nullptr) {
    waiting.data.assign(data, data + message.length);
  }
  if (from != nullptr) {
    waiting.kept = {from->kept, bytes};
  } else {
    ++own_waiting_;
  }
  waiting_.push_back(std::move(waiting));
  return true;
}

// Refused messages arrive again whenever something arrives, and at least every kRetryRefused; many take turns.
unsigned EndpointCore::retry_waiting() {
  unsigned delivered = 0;
  std::size_t turns = std::min(waiting_.size(), tuning::kRetriesPerStep);
  untried_ -= std::min(untried_, turns);
  for (; turns != 0 && !waiting_.empty(); --turns) {  // handlers may purge peers, whose messages are gone then
    WaitingMessage waiting = std::move(waiting_.front());
    waiting_.pop_front();
    const MovedMessage moved(&waiting);
    if (waiting.is_long ? retry_long(waiting) : retry(waiting)) {
      ++delivered;
      if (waiting.source == config_.self) --own_waiting_;
    } else {
      waiting_.push_back(std::move(waiting));
    }
  }
  return delivered;
}

bool EndpointCore::retry(WaitingMessage& waiting) {
  return deliver_whole({waiting.source, waiting.body, waiting.user_header.data(),
                        static_cast<std::uint32_t>(waiting.user_header.size()), waiting.data.data(), waiting.length,
                        true, waiting.number, waiting.vector, waiting.in_atoms});
}

// The handler is asked again; on acceptance what has come so far moves to its buffer, and the rest goes there directly.
// Of a message that is read from the source's memory nothing has come so far.
bool EndpointCore::retry_long(WaitingMessage& waiting) {
  Peer& from = *peers_[waiting.source];
  if (!from.incoming.contains(waiting.message_id)) return true;
  HeaderVerdict verdict = ask_header_handler({waiting.source, waiting.body, waiting.user_header.data(),
                                              static_cast<std::uint32_t>(waiting.user_header.size()), nullptr,
                                              waiting.length, false, 0, waiting.vector, waiting.in_atoms});
  if (verdict.delivery == Delivery::drop) return false;
  IncomingMessage& message = from.incoming.at(waiting.message_id);
  message.refused = false;
  message.style = verdict.style;
  message.run = completion_run(waiting.source, waiting.body, verdict);
  auto* buffer = is_buried(verdict) ? nullptr : static_cast<std::byte*>(verdict.buffer);
  if (!is_buried(verdict) && verdict.layout != nullptr) {
    message.layout = std::move(verdict.layout);
    if (message.kept_end != 0) {
      place_data(from, message, 0, {message.own_buffer.get(), static_cast<std::size_t>(message.kept_end)});
    }
  } else if (buffer != nullptr && message.kept_end != 0) {
    std::memcpy(buffer, message.own_buffer.get(), message.kept_end);
  }
  message.buffer = buffer;
  message.own_buffer.reset();
  if (waiting.bulk) {
    pull_message(from, waiting.message_id, message, waiting.attach_address, waiting.key);
    return true;
  }
  if (waiting.attach_address != 0) {
    begin_read({waiting.source, false, waiting.message_id, waiting.attach_address, 0, waiting.attach_layout});
    return true;
  }
  if (message.received == message.total) fragment_arrived(from, waiting.message_id, message, 0);
  return true;
}

}  // namespace openlapi
