// Puts and messages whose data is not contiguous leave. The data goes from the user's pieces straight into packets;
// what finds no room and is short enough is copied, like everything else. The lists that say where the pieces are
// belong to the caller again when the call returns: of a message that outlives it they are copied.
#include <algorithm>
#include <cstring>

#include "dataplane/base/own_memory.h"
#include "dataplane/endpoint/endpoint_core.h"
#include "dataplane/endpoint/endpoint_delivery.h"
#include "dataplane/layout/guarded_copy.h"
#include "dataplane/layout/vector_cursor.h"
#include "dataplane/message/fragments.h"
#include "dataplane/message/layout_record.h"
#include "dataplane/tuning.h"

namespace openlapi {

using wire::RecordKind;

namespace {

template <typename Body>
const std::byte* bytes_of(const Body& body) {
  return reinterpret_cast<const std::byte*>(&body);
}

}  // namespace

Submit EndpointCore::put_layout(const LayoutPutRequest& request) {
  request.source->seek(0);
  request.destination->seek(0);
  const std::uint64_t total = std::min(request.source->total_bytes(), request.destination->total_bytes());
  if (total == 0) {
    return put(
        {request.target, 0, nullptr, 0, request.target_counter, request.origin_counter, request.completion_counter});
  }
  if (request.target == config_.self) return put_layout_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);

  if (owes_too_much(*peer, request.completion_counter)) return Submit::busy;
  const wire::PutBody body{0, request.target_counter, request.completion_counter};
  const LayoutParts parts{
      RecordKind::put, bytes_of(body), request.source, request.destination, {}, total, 0, 0, true, false};
  return owe(*peer, request.completion_counter,
             submit_layout(*peer, parts, {request.origin_counter, request.send_handler}));
}

Submit EndpointCore::layout_message(const LayoutMessageRequest& request) {
  request.source->seek(0);
  if (request.target == config_.self) return layout_message_to_self(request);
  Peer* peer = contact(request.target);
  if (peer == nullptr) return refusal(request.target);

  if (owes_too_much(*peer, request.completion_counter)) return Submit::busy;
  const wire::ActiveMessageBody body{request.handler, request.target_counter, request.completion_counter};
  const LayoutParts parts{RecordKind::active_message,
                          bytes_of(body),
                          request.source,
                          nullptr,
                          {request.user_header, request.user_header_length},
                          request.source->total_bytes(),
                          0,
                          0,
                          true,
                          request.vector};
  return owe(*peer, request.completion_counter,
             submit_layout(*peer, parts, {request.origin_counter, request.send_handler}));
}

// One record if the whole message fits it, else a long message.
Submit EndpointCore::submit_layout(Peer& peer, const LayoutParts& parts, const OriginNotice& notice) {
  if (parts.total + parts.user_header.length < peer.max_record) {
    LayoutRecord record;
    if (record.build(parts, peer.max_record) == parts.total) {
      if (is_guarded(*parts.source)) return submit_guarded(peer, record, parts.total, notice);
      return submit_single(peer, record.pieces(), record.length(), parts.total, notice);
    }
    parts.source->seek(0);
  }
  const bool copied = parts.total + parts.user_header.length <= config_.copy_limit;
  if (copied ? copies_exhausted(peer) : keeps_exhausted(peer)) return Submit::busy;
  std::unique_ptr<std::byte[]> room = copied ? room_for_long_copy(parts.total) : nullptr;

  OutgoingMessage message;
  message.kind = parts.kind;
  std::memcpy(message.body.data(), parts.body, message.body.size());
  if (parts.user_header.length != 0) {
    const auto* header = static_cast<const std::byte*>(parts.user_header.data);
    message.user_header.assign(header, header + parts.user_header.length);
  }
  // What is copied refers to the caller's lists until the call returns only: keep_layout_copy() ends that.
  message.source = copied ? parts.source->clone() : parts.source->detached();
  if (parts.destination != nullptr) {
    message.destination = copied ? parts.destination->clone() : parts.destination->detached();
  }
  message.vector = parts.vector;
  message.total = parts.total;
  message.free_counter = notice.counter;
  message.free_handler = notice.handler;
  message.counts_as_send = true;
  give_number(message);
  message.peer = peer.index;
  ++peer.messages_sent;
  return submit_long_layout(peer, std::move(message), std::move(room));
}

Submit EndpointCore::submit_long_layout(Peer& peer, OutgoingMessage message, std::unique_ptr<std::byte[]> room) {
  const bool copied = message.total + message.user_header.size() <= config_.copy_limit;
  const bool attach = !copied && may_attach(peer, message);
  if (!copied) message.kept_bytes = message.bytes_of_ours();
  if (attach) {
    offer_layout_attach(peer, std::move(message));
    return Submit::accepted;
  }
  message.submitting = true;
  OutgoingMessage& stored = store(std::move(message));
  const bool sent = peer.backlog.empty() && pump(peer, stored);
  if (!sent && copied && !stored.withdrawn) keep_layout_copy(stored, std::move(room));
  if (stored.withdrawn) return withdraw(peer, stored);
  stored.submitting = false;
  if (sent) {
    finish_sending(stored);
  } else if (copied) {
    sent_for_the_origin(peer, stored);
  }
  return Submit::accepted;
}

// What is left of the data moves to memory of ours, and so do the lists of the destination: the caller may change both.
void EndpointCore::keep_layout_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room) {
  const std::uint64_t left = message.total - message.offset;
  message.copy = room != nullptr ? std::move(room) : std::make_unique_for_overwrite<std::byte[]>(left);
  if (is_guarded(*message.source)) {
    if (!gather_or_zero(*message.source, message.copy.get(), left)) source_failed(message);
    if (message.withdrawn) return;
  } else {
    message.source->gather(message.copy.get(), left);
  }
  message.source = std::make_unique<StridedCursor>(reinterpret_cast<std::uintptr_t>(message.copy.get()), left,
                                                   message.source->atom_size());
  if (message.destination != nullptr) {
    message.destination = message.destination->detached();
    message.destination->seek(message.offset);
  }
  take_copy(*peers_[message.peer]);
}

// Sends one fragment; false: no room.
bool EndpointCore::send_layout_fragment(Peer& peer, OutgoingMessage& message) {
  const std::size_t header_bytes = message.first_sent ? 0 : message.user_header.size();
  const LayoutParts parts{message.kind,
                          message.body.data(),
                          message.source.get(),
                          message.destination.get(),
                          {message.user_header.data(), header_bytes},
                          message.total,
                          message.offset,
                          message.id,
                          !message.first_sent,
                          message.vector};
  const std::uint64_t begin = message.source->position();
  LayoutRecord record;
  const std::uint64_t bytes = record.build(parts, peer.max_record);
  const Attempt attempt = try_to_send(peer, record, is_guarded(*message.source));
  if (attempt != Attempt::sent) {
    message.source->seek(begin);
    if (message.destination != nullptr) message.destination->seek(message.offset);
    if (attempt == Attempt::no_room) return false;
    source_failed(message);
    return !message.withdrawn && send_layout_fragment(peer, message);
  }
  fragment_left(peer, message, bytes);
  return true;
}

// Reading a peer's memory pays when its pieces are large: the kernel looks up the pages of each.
bool EndpointCore::may_attach(const Peer& peer, OutgoingMessage& message) const {
  if (peer.remote_memory == nullptr || peer.attach_closed) return false;
  if (message.total / message.source->piece_count() < tuning::kSmallestAttachPiece) return false;
  const bool described = describe_layout(*message.source, tuning::kLongestDescription, message.description) &&
                         (message.destination == nullptr ||
                          describe_layout(*message.destination, tuning::kLongestDescription, message.description));
  if (!described) message.description.clear();
  return described;
}

// The first record says where the description lies; the peer reads it, and then the data.
void EndpointCore::offer_layout_attach(Peer& peer, OutgoingMessage message) {
  const wire::LongExtension extension{message.total, reinterpret_cast<std::uintptr_t>(message.description.data()),
                                      message.id, static_cast<std::uint32_t>(message.description.size())};
  const std::uint8_t flags = message_flags(message.vector, *message.source);
  RecordBytes fixed(message.kind, message.body);
  fixed.extend(extension, wire::kFlagLong | wire::kFlagAttach | wire::kFlagLayout | flags)
      .user_header_length(static_cast<std::uint32_t>(message.user_header.size()));
  message.stage = OutgoingMessage::Stage::awaiting_attach;
  message.first_sent = true;
  const ConstBuffer pieces[] = {fixed.piece(), {message.user_header.data(), message.user_header.size()}};
  post(peer, pieces, static_cast<std::uint32_t>(fixed.length() + message.user_header.size()));
  store(std::move(message));
}

Submit EndpointCore::put_layout_to_self(const LayoutPutRequest& request) {
  if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
  if (!copy_guarded(*request.source, *request.destination)) {
    const bool readable = is_readable(*request.source, request.source->total_bytes());
    return readable ? Submit::target_memory : Submit::origin_memory;
  }
  MessageStatistics& local = statistics_[static_cast<std::size_t>(StatisticsPath::local)];
  local.data_sent += request.source->position();
  local.data_received += request.source->position();
  ++sends_completed_;
  ++receives_completed_;
  origin_is_free(config_.self, {request.origin_counter, request.send_handler});
  move_counter(request.target_counter, config_.self);
  move_counter(request.completion_counter, config_.self);
  return Submit::accepted;
}

// The header handler sees the data only if it is contiguous; otherwise it goes from pieces to pieces.
Submit EndpointCore::layout_message_to_self(const LayoutMessageRequest& request) {
  if (kWordIs32Bits && refuse_own(request)) return Submit::accepted;
  if (own_exhausted()) return Submit::busy;
  // The header handler would have run before the copy finds out.
  const bool guarded = is_guarded(*request.source);
  if (guarded && !is_readable(*request.source, request.source->total_bytes())) return Submit::origin_memory;
  WholeMessage message{config_.self,
                       {request.handler, request.target_counter, request.completion_counter},
                       const_cast<void*>(request.user_header),
                       request.user_header_length,
                       nullptr,
                       request.source->total_bytes(),
                       true};
  message.vector = request.vector;
  message.in_atoms = request.source->atom_size() != 0;
  message.source_layout = request.source;
  wire::StridedLayout layout;
  if (request.source->as_strided(layout) && layout.count <= 1) {
    message.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(layout.base));
  }
  statistics_[static_cast<std::size_t>(StatisticsPath::local)].data_sent += message.length;
  ++sends_completed_;
  if (inline_depth_ > 0) untried_ = waiting_.size() + 1;
  if (inline_depth_ > 0 || !deliver_whole(message)) keep_waiting(message);
  origin_is_free(config_.self, {request.origin_counter, request.send_handler});
  return Submit::accepted;
}

}  // namespace openlapi
