// Messages from peers that come in several records, or are read where they lie. They begin with the first record and
// are complete with the last byte. Lengths and ids are checked against what is known here; what does not fit is counted
// and dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "dataplane/host/handler_host.h"
#include "dataplane/message/data_elsewhere.h"
#include "dataplane/message/incoming_message.h"
#include "dataplane/peers/dropped_peers.h"
#include "dataplane/peers/peer.h"
#include "dataplane/peers/statistics.h"
#include "dataplane/transfer/guarded_layouts.h"

namespace openlapi {

// Reads the data of a message where it lies.
class DataReader {
 public:
  virtual void read(Peer& from, std::uint32_t id, IncomingMessage& message, const DataElsewhere& where) = 0;

 protected:
  ~DataReader() = default;
};

// Is called when a message has come to its end.
class MessageEnd {
 public:
  virtual void message_complete(Peer& from, IncomingMessage message) = 0;

 protected:
  ~MessageEnd() = default;
};

class IncomingMessages {
 public:
  IncomingMessages(HandlerHost& host, Statistics& statistics, DroppedPeers& dropped, const GuardedLayouts& guard,
                   DataReader& reader, MessageEnd& end)
      : host_(host), statistics_(statistics), dropped_(dropped), guard_(guard), reader_(reader), end_(end) {}

  // The first record has arrived, which may also be the only one.
  void begin(Peer& from, const wire::Record& record, IncomingMessage message);
  // Null: there is a message with that id already, or the peer has too many.
  IncomingMessage* add(Peer& from, std::uint32_t id, IncomingMessage message);

  void on_data(Peer& from, const wire::Record& record);
  // The message has begun, it is known where its data goes, and that may come in any order.
  static bool awaits_data(Peer& from, std::uint32_t id);
  // `bytes` more of the message are in place; with the last of them it is complete.
  void arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes);
  // Copies data to the message's layout; data that has no place there is thrown away.
  void place(Peer& from, IncomingMessage& message, std::uint64_t offset, std::span<const std::byte> data);

  static IncomingMessage* find(Peer& from, std::uint32_t id) {
    const auto found = from.incoming.find(id);
    return found != from.incoming.end() ? &found->second : nullptr;
  }

 private:
  HandlerHost& host_;
  Statistics& statistics_;
  DroppedPeers& dropped_;
  const GuardedLayouts& guard_;
  DataReader& reader_;
  MessageEnd& end_;
};

}  // namespace openlapi
