#include "dataplane/endpoint/fault_names.h"

#include <cstring>

#include "dataplane/message/incoming_message.h"
#include "dataplane/message/outgoing_message.h"
#include "dataplane/message/request_table.h"
#include "dataplane/message/whole_message.h"

namespace openlapi {

namespace {

using wire::body_of;
using wire::RecordKind;

constexpr std::string_view kCarriedOut = "while it carries out for task ";
constexpr std::string_view kInHandler = "in a handler that it runs for task ";

void name_bytes(std::string_view call, std::uint64_t length, FaultLine& line) {
  line << call << " of " << length << " bytes";
}

void name_target_counter(std::uint64_t counter, FaultLine& line) {
  if (counter != 0) (line << ", target counter ").address(counter);
}

void name_origin_counter(std::uint64_t counter, FaultLine& line) {
  if (counter != 0) (line << ", origin counter ").address(counter);
}

std::string_view message_call(bool vector) { return vector ? "LAPI_Amsendv" : "LAPI_Amsend"; }

bool name_put(const wire::Record& record, FaultLine& line) {
  const wire::PutBody body = wire::put_body(record);
  const bool vector = record.has_layout();
  name_bytes(vector ? "LAPI_Putv" : "LAPI_Put",
             record.is_long() ? record.extension.total_length : record.header.payload_length, line);
  if (!vector) (line << " to ").address(body.target_address);
  name_target_counter(body.target_counter, line);
  return true;
}

template <class Body>
bool name_put_vector(const wire::Record& record, FaultLine& line) {
  const auto body = body_of<Body>(record);
  name_bytes("LAPI_Putv", body.total_length, line);
  name_target_counter(body.target_counter, line);
  return true;
}

bool name_get(const wire::Record& record, FaultLine& line) {
  const auto body = body_of<wire::GetRequestBody>(record);
  name_bytes("LAPI_Get", body.length, line);
  (line << " from ").address(body.target_address);
  name_target_counter(body.target_counter, line);
  return true;
}

bool name_message(const wire::ActiveMessageBody& body, bool vector, std::uint64_t length, bool in_handler,
                  FaultLine& line) {
  name_bytes(message_call(vector), length, line);
  (line << (in_handler ? ", header handler " : " to what was returned by header handler ")).address(body.handler);
  name_target_counter(body.target_counter, line);
  return true;
}

bool name_message(const wire::Record& record, bool in_handler, FaultLine& line) {
  return name_message(body_of<wire::ActiveMessageBody>(record), record.is_vector(),
                      record.is_long() ? record.extension.total_length : record.header.payload_length, in_handler,
                      line);
}

// A message whose first packet said what it is, and is gone.
bool name_incoming(const IncomingMessage* message, FaultLine& line) {
  const IncomingOperation* const operation = message != nullptr ? message->operation() : nullptr;
  if (operation == nullptr) return false;
  if (message->is_put()) {
    name_bytes(operation->vector ? "LAPI_Putv" : "LAPI_Put", message->total, line);
  } else {
    name_bytes(message_call(operation->vector), message->total, line);
  }
  if (message->layout == nullptr && message->has_buffer) (line << " to ").address(message->buffer);
  name_target_counter(operation->run.target_counter, line);
  return true;
}

// What has read this task's memory itself tells of no more than the length.
bool name_memory_read(const wire::Record& record, FaultLine& line) {
  wire::MemoryReadBody body;
  std::memcpy(&body, record.body, sizeof(body));
  name_bytes("LAPI_Get or LAPI_Getv", body.length, line);
  name_target_counter(body.counter, line);
  return true;
}

bool name_operation(const ServedPacket& packet, bool in_handler, FaultLine& line) {
  const wire::Record& record = packet.record;
  switch (record.kind()) {
    case RecordKind::put:
    case RecordKind::short_put:
      return name_put(record, line);
    case RecordKind::get_request:
      return name_get(record, line);
    case RecordKind::rmw_request:
      return (line << "LAPI_Rmw of ").address(body_of<wire::RmwRequestBody>(record).target_address), true;
    case RecordKind::active_message:
      return name_message(record, in_handler, line);
    case RecordKind::data:
      return name_incoming(packet.directory.incoming_message(packet.source, body_of<wire::DataBody>(record).message_id),
                           line);
    case RecordKind::put_pieces:
      return name_put_vector<wire::PutPiecesBody>(record, line);
    case RecordKind::put_strided:
      return name_put_vector<wire::PutStridedBody>(record, line);
    case RecordKind::memory_read:
      return name_memory_read(record, line);
    case RecordKind::get_layout:
      return line << "LAPI_Getv", true;
    default:
      return false;
  }
}

// What this task has asked for itself.
bool name_request(const PendingRequest* request, FaultLine& line) {
  if (request == nullptr) return false;
  line << "while it takes in, from task " << std::uint64_t{request->peer} << ", its own ";
  if (!request->is_get) {
    (line << "LAPI_Rmw, with the old value to ").address(request->buffer);
  } else {
    name_bytes(request->layout != nullptr ? "LAPI_Getv" : "LAPI_Get", request->length, line);
    if (request->layout == nullptr) (line << " to ").address(request->buffer);
  }
  name_origin_counter(request->origin_counter, line);
  return true;
}

// What has waited for a thread that runs its completion handler.
bool name_completed(const CompletionRun& run, FaultLine& line) {
  line << std::uint64_t{run.source} << ": LAPI_Amsend or LAPI_Amsendv, completion handler ";
  line.address(run.handler);
  name_target_counter(run.target_counter, line);
  return true;
}

}  // namespace

bool name_served(const ServedPacket& packet, bool in_handler, FaultLine& line) {
  const wire::Record& record = packet.record;
  switch (record.kind()) {
    case RecordKind::get_data:
      return name_request(packet.directory.pending_request(body_of<wire::GetDataBody>(record).request_id), line);
    case RecordKind::rmw_reply:
      return name_request(packet.directory.pending_request(body_of<wire::RmwReplyBody>(record).request_id), line);
    case RecordKind::counter_update:
      line << "while it counts for task " << std::uint64_t{packet.source} << ": its own completion counter ";
      return line.address(body_of<wire::CounterUpdateBody>(record).counter), true;
    default:
      line << (in_handler ? kInHandler : kCarriedOut) << std::uint64_t{packet.source} << ": ";
      return name_operation(packet, in_handler, line);
  }
}

bool name_leaving(const OutgoingMessage& message, FaultLine& line) {
  const bool vector = message.source != nullptr && (message.vector || message.kind != RecordKind::active_message);
  const bool answer = message.kind == RecordKind::get_data;
  line << (answer ? kCarriedOut : "while it sends to task ") << std::uint64_t{message.peer}
       << (answer ? ": " : " its own ");
  if (answer) {
    name_bytes(vector ? "LAPI_Getv" : "LAPI_Get", message.total, line);
  } else if (message.kind == RecordKind::put) {
    name_bytes(vector ? "LAPI_Putv" : "LAPI_Put", message.total, line);
  } else if (message.kind == RecordKind::active_message) {
    name_bytes(message_call(vector), message.total, line);
  } else {
    return false;
  }
  if (message.source == nullptr) (line << " from ").address(message.data);
  answer ? name_target_counter(message.free_counter, line) : name_origin_counter(message.free_counter, line);
  return true;
}

bool name_moved(const MovedMessage& moved, bool in_handler, FaultLine& line) {
  if (const auto* leaving = std::get_if<const OutgoingMessage*>(&moved.message)) return name_leaving(**leaving, line);
  if (const auto* request = std::get_if<const PendingRequest*>(&moved.message)) return name_request(*request, line);
  line << (in_handler ? kInHandler : kCarriedOut);
  if (const auto* waiting = std::get_if<const WaitingMessage*>(&moved.message)) {
    line << std::uint64_t{(*waiting)->source} << ": ";
    return name_message((*waiting)->body, (*waiting)->vector, (*waiting)->length, in_handler, line);
  }
  if (const auto* incoming = std::get_if<const IncomingMessage*>(&moved.message)) {
    const IncomingOperation* const operation = (*incoming)->operation();
    if (operation != nullptr) line << std::uint64_t{operation->run.source} << ": ";
    return name_incoming(*incoming, line);
  }
  return name_completed(*std::get<const CompletionRun*>(moved.message), line);
}

}  // namespace openlapi
