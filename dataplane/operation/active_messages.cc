#include "dataplane/operation/active_messages.h"

#include <cstring>
#include <memory>
#include <utility>

#include "dataplane/base/copy_bytes.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

// The data goes to one buffer.
bool is_plain(const HeaderVerdict& verdict) {
  return verdict.delivery == Delivery::deliver && verdict.buffer != nullptr && verdict.layout == nullptr;
}

wire::ActiveMessageBody wire_body(const auto& request) {
  return {.handler = request.handler,
          .target_counter = request.target_counter,
          .completion_counter = request.completion_counter};
}

WholeMessage whole_of(Peer& from, const wire::Record& record) {
  return {.source = from.index,
          .body = wire::body_of<wire::ActiveMessageBody>(record),
          .user_header = const_cast<std::byte*>(record.user_header),
          .user_header_length = record.header.user_header_length,
          .data = record.is_long() ? nullptr : record.payload,
          .length = record.is_long() ? record.extension.total_length : record.header.payload_length,
          .one_packet = !record.is_long(),
          .vector = record.is_vector(),
          .in_atoms = record.in_atoms()};
}

}  // namespace

// The origin sends.

Submit ActiveMessages::begin(Peer& peer, const ActiveMessageRequest& request) {
  if (means_.admission.owes_too_much(peer, request.completion_counter)) [[unlikely]]
    return Submit::busy;
  const wire::ActiveMessageBody body = wire_body(request);
  RecordBytes fixed(RecordKind::active_message, body);
  const std::uint32_t headers = fixed.length() + request.user_header_length;
  if (headers <= peer.max_record && request.length <= peer.max_record - headers) [[likely]] {
    fixed.user_header_length(request.user_header_length).payload_length(request.length);
    const ConstBuffer pieces[] = {fixed.piece(),
                                  {request.user_header, request.user_header_length},
                                  {request.data, static_cast<std::size_t>(request.length)}};
    return MessageSubmission::owe(
        peer, request.completion_counter,
        means_.submission.send_whole(peer, pieces, static_cast<std::uint32_t>(headers + request.length), request.length,
                                     {request.origin_counter, request.send_handler}));
  }
  OutgoingMessage message;
  message.kind = RecordKind::active_message;
  std::memcpy(message.body.data(), &body, sizeof(body));
  const auto* header = static_cast<const std::byte*>(request.user_header);
  message.user_header.assign(header, header + request.user_header_length);
  message.data = static_cast<const std::byte*>(request.data);
  message.total = request.length;
  message.free_counter = request.origin_counter;
  message.free_handler = request.send_handler;
  return MessageSubmission::owe(peer, request.completion_counter,
                                means_.submission.send_long(peer, std::move(message), request.bulk));
}

Submit ActiveMessages::begin(Peer& peer, const LayoutMessageRequest& request) {
  if (means_.admission.owes_too_much(peer, request.completion_counter)) return Submit::busy;
  const wire::ActiveMessageBody body = wire_body(request);
  const LayoutParts parts{.kind = RecordKind::active_message,
                          .body = reinterpret_cast<const std::byte*>(&body),
                          .source = request.source,
                          .user_header = {request.user_header, request.user_header_length},
                          .total = request.source->total_bytes(),
                          .vector = request.vector};
  return MessageSubmission::owe(
      peer, request.completion_counter,
      means_.submission.send_layout(peer, parts, {request.origin_counter, request.send_handler}));
}

// The target asks its header handler.

HeaderVerdict ActiveMessages::ask_header_handler(const WholeMessage& message) {
  return means_.host.run_header_handler({.source = message.source,
                                         .handler = message.body.handler,
                                         .user_header = message.user_header,
                                         .user_header_length = message.user_header_length,
                                         .length = message.length,
                                         .one_packet_data = message.one_packet ? message.data : nullptr,
                                         .vector = message.vector,
                                         .in_atoms = message.in_atoms});
}

CompletionRun ActiveMessages::completion_run(PeerIndex source, const wire::ActiveMessageBody& body,
                                             const HeaderVerdict& verdict) const {
  const std::uint32_t incarnation = means_.peers.is_self(source) ? 0 : means_.peers.at(source).incarnation;
  return {.handler = verdict.completion_handler,
          .info = verdict.completion_info,
          .source = source,
          .source_incarnation = incarnation,
          .target_counter = body.target_counter,
          .completion_counter = body.completion_counter};
}

void ActiveMessages::on_message(Peer& from, const wire::Record& record) {
  if (record.header.user_header_length > tuning::kMaxUserHeader) [[unlikely]]
    return means_.statistics.ghost();
  if (record.is_long()) return begin_long(from, record);
  const auto body = wire::body_of<wire::ActiveMessageBody>(record);
  const std::uint64_t number = ++from.messages_begun;
  const std::uint32_t length = record.header.payload_length;
  auto* const user_header = const_cast<std::byte*>(record.user_header);
  const HeaderVerdict verdict = means_.host.run_header_handler({.source = from.index,
                                                                .handler = body.handler,
                                                                .user_header = user_header,
                                                                .user_header_length = record.header.user_header_length,
                                                                .length = length,
                                                                .one_packet_data = record.payload,
                                                                .vector = record.is_vector(),
                                                                .in_atoms = record.in_atoms()});
  if (is_plain(verdict)) [[likely]] {
    copy_bytes(static_cast<std::byte*>(verdict.buffer), record.payload, length);
    const CompletionRun run{.handler = verdict.completion_handler,
                            .info = verdict.completion_info,
                            .source = from.index,
                            .source_incarnation = from.incarnation,
                            .target_counter = body.target_counter,
                            .completion_counter = body.completion_counter};
    return means_.completions.data_in_place(&from, number, run, verdict.style, length);
  }
  WholeMessage message = whole_of(from, record);
  message.number = number;
  if (!obey(verdict, message)) keep_waiting(message);
}

// False: the header handler dropped it.
bool ActiveMessages::deliver_whole(const WholeMessage& message) { return obey(ask_header_handler(message), message); }

bool ActiveMessages::obey(const HeaderVerdict& verdict, const WholeMessage& message) {
  if (verdict.delivery == Delivery::drop) return false;
  Peer* from = means_.peers.is_self(message.source) ? nullptr : means_.peers.find(message.source);
  if (!is_buried(verdict) && message.length != 0) {
    if (verdict.layout != nullptr || message.source_layout != nullptr) [[unlikely]] {
      deliver_to_layout(message, verdict);
    } else if (from != nullptr) {
      copy_bytes(static_cast<std::byte*>(verdict.buffer), static_cast<const std::byte*>(message.data), message.length);
    } else {
      std::memmove(verdict.buffer, message.data, message.length);  // a task's own memory, which may overlap
    }
  }
  means_.completions.data_in_place(from, message.number, completion_run(message.source, message.body, verdict),
                                   verdict.style, message.length);
  return true;
}

// From wherever the data lies to wherever the header handler wants it.
void ActiveMessages::deliver_to_layout(const WholeMessage& message, const HeaderVerdict& verdict) {
  StridedCursor data(reinterpret_cast<std::uintptr_t>(message.data), message.length);
  StridedCursor buffer(reinterpret_cast<std::uintptr_t>(verdict.buffer), message.length);
  if (message.source_layout != nullptr) message.source_layout->seek(0);
  LayoutCursor& from = message.source_layout != nullptr ? *message.source_layout : data;
  LayoutCursor& to = verdict.layout != nullptr ? *verdict.layout : buffer;
  if (means_.guard.copy(from, to)) return;
  means_.host.report_fault(message.vector ? Fault::target_vector : Fault::program_memory, message.source);
}

// The first record of a message with further fragments, or of one that is to be read from the origin's memory.
void ActiveMessages::begin_long(Peer& from, const wire::Record& record) {
  if (from.incoming.contains(record.extension.message_id)) return means_.statistics.ghost();
  const WholeMessage message = whole_of(from, record);
  HeaderVerdict verdict = ask_header_handler(message);
  IncomingActiveMessage arriving;
  arriving.run = completion_run(from.index, message.body, verdict);
  arriving.vector = message.vector;
  arriving.style = verdict.style;
  arriving.refused = verdict.delivery == Delivery::drop;
  IncomingMessage incoming{.kind = arriving, .total = record.extension.total_length};
  if (verdict.delivery == Delivery::drop) {
    if (!refuse_long(from, record, message, incoming)) return;
  } else if (!is_buried(verdict)) {
    if (verdict.buffer != nullptr) incoming.go_to(static_cast<std::byte*>(verdict.buffer));
    incoming.layout = std::move(verdict.layout);
  }
  means_.incoming.begin(from, record, std::move(incoming));
}

// False: it is more than the peer may have here.
bool ActiveMessages::refuse_long(Peer& from, const wire::Record& record, const WholeMessage& message,
                                 IncomingMessage& incoming) {
  if (!record.is_attach()) {
    if (!means_.dropped.may_keep(from, incoming.total)) return false;
    incoming.kept = {from.kept, incoming.total};
    incoming.go_to(std::make_unique_for_overwrite<std::byte[]>(incoming.total));
  }
  if (!keep_waiting(message)) return false;
  WaitingMessage& waiting = means_.refused.newest();
  waiting.is_long = true;
  waiting.message_id = record.extension.message_id;
  if (record.is_attach()) waiting.elsewhere = DataElsewhere::of(record);
  return true;
}

// To oneself. Target and origin are the same task.

Submit ActiveMessages::begin_at_self(const ActiveMessageRequest& request) {
  if (means_.admission.own_exhausted()) return Submit::busy;
  const WholeMessage message{.source = means_.self,
                             .body = wire_body(request),
                             .user_header = const_cast<void*>(request.user_header),
                             .user_header_length = request.user_header_length,
                             .data = const_cast<void*>(request.data),
                             .length = request.length,
                             .one_packet = true};
  deliver_own(message, {request.origin_counter, request.send_handler});
  return Submit::accepted;
}

// The header handler sees the data only if it is contiguous; otherwise it goes from pieces to pieces.
Submit ActiveMessages::begin_at_self(const LayoutMessageRequest& request) {
  if (means_.admission.own_exhausted()) return Submit::busy;
  // The header handler would have run before the copy finds out.
  const bool guarded = means_.guard.is_guarded(*request.source);
  if (guarded && !is_readable(*request.source, request.source->total_bytes())) return Submit::origin_memory;
  WholeMessage message{.source = means_.self,
                       .body = wire_body(request),
                       .user_header = const_cast<void*>(request.user_header),
                       .user_header_length = request.user_header_length,
                       .data = nullptr,
                       .length = request.source->total_bytes(),
                       .one_packet = true,
                       .vector = request.vector,
                       .in_atoms = request.source->atom_size() != 0,
                       .source_layout = request.source};
  wire::StridedLayout layout;
  if (request.source->as_strided(layout) && layout.count <= 1) {
    message.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(layout.base));
  }
  deliver_own(message, {request.origin_counter, request.send_handler});
  return Submit::accepted;
}

// From inside an inline handler it waits for the next step: handlers that answer themselves must not recurse.
void ActiveMessages::deliver_own(const WholeMessage& message, const OriginNotice& notice) {
  means_.statistics.of_self().data_sent += message.length;
  means_.statistics.send_completed();
  const bool later = means_.admission.in_handler();
  if (later) means_.refused.next_is_untried();
  if (later || !deliver_whole(message)) keep_waiting(message);
  means_.origins.origin_is_free(means_.self, notice);
}

}  // namespace openlapi
