// What a thread is moving for which message: if a wrong address kills the task, a line says whose call named it.
#pragma once

#include <variant>

#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

struct CompletionRun;
struct IncomingMessage;
struct OutgoingMessage;
struct PendingRequest;
struct WaitingMessage;

// Finds what records and addresses refer to, for the message of a dying task. Null: nothing.
class MessageDirectory {
 public:
  virtual const IncomingMessage* incoming_message(PeerIndex from, std::uint32_t id) const = 0;
  virtual const PendingRequest* pending_request(std::uint32_t id) const = 0;
  virtual const OutgoingMessage* sent_from(const void* address) const = 0;

 protected:
  ~MessageDirectory() = default;
};

// A packet whose records a thread is carrying out. Every packet has one of these, so it costs only a few stores.
class ServedPacket {
 public:
  ServedPacket(const MessageDirectory& directory, PeerIndex source);
  ~ServedPacket();
  ServedPacket(const ServedPacket&) = delete;
  ServedPacket& operator=(const ServedPacket&) = delete;

  wire::Record record;  // the one being carried out; at first only its kind is set, to none
  const MessageDirectory& directory;
  const PeerIndex source;

 private:
  ServedPacket* const outer_;
};

// The same for a message when no packet is being carried out for it.
class MovedMessage {
 public:
  using Message = std::variant<const OutgoingMessage*,  // its parts leave, or all have left
                               const WaitingMessage*,   // its header handler is asked again
                               const IncomingMessage*,  // all of it is here
                               const CompletionRun*,    // its completion handler has returned
                               const PendingRequest*>;  // what was asked for is here

  explicit MovedMessage(Message message);
  ~MovedMessage();
  MovedMessage(const MovedMessage&) = delete;
  MovedMessage& operator=(const MovedMessage&) = delete;

  const Message message;
  const ServedPacket* const within;  // the packet that was carried out when this began; null: none

 private:
  const MovedMessage* const outer_;
};

extern constinit thread_local ServedPacket* served_packet [[gnu::tls_model("initial-exec")]];
extern constinit thread_local const MovedMessage* moved_message [[gnu::tls_model("initial-exec")]];

inline ServedPacket::ServedPacket(const MessageDirectory& directory, PeerIndex source)
    : directory(directory), source(source), outer_(served_packet) {
  record.header.kind = 0;
  served_packet = this;
}
inline ServedPacket::~ServedPacket() { served_packet = outer_; }

}  // namespace openlapi
