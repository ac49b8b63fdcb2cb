// Active messages: the origin sends a header and data, the target's header handler decides where the data goes, and the
// message is complete when the data is there (completions.h; guide, chapter 7).
#pragma once

#include <cstdint>

#include "dataplane/host/requests.h"
#include "dataplane/message/refused_messages.h"
#include "dataplane/message/whole_message.h"
#include "dataplane/operation/completions.h"
#include "dataplane/transfer/incoming_messages.h"
#include "dataplane/transfer/message_submission.h"

namespace openlapi {

class ActiveMessages {
 public:
  struct Means {
    HandlerHost& host;
    PeerTable& peers;
    Statistics& statistics;
    Admission& admission;
    DroppedPeers& dropped;
    OriginNotices& origins;
    MessageSubmission& submission;
    IncomingMessages& incoming;
    DataReader& reader;
    Completions& completions;
    RefusedMessages& refused;
    const GuardedLayouts& guard;
    PeerIndex self;
  };
  explicit ActiveMessages(const Means& means) : means_(means) {}

  // To a peer, or to this task itself. A layout is at its beginning.
  Submit begin(Peer& peer, const ActiveMessageRequest& request);
  Submit begin(Peer& peer, const LayoutMessageRequest& request);
  Submit begin_at_self(const ActiveMessageRequest& request);
  Submit begin_at_self(const LayoutMessageRequest& request);

  void on_message(Peer& from, const wire::Record& record);

  // Offers messages that were refused to their header handlers again.
  unsigned retry_refused();

 private:
  HeaderVerdict ask_header_handler(const WholeMessage& message);
  CompletionRun completion_run(PeerIndex source, const wire::ActiveMessageBody& body,
                               const HeaderVerdict& verdict) const;
  bool deliver_whole(const WholeMessage& message);
  bool obey(const HeaderVerdict& verdict, const WholeMessage& message);
  [[gnu::noinline]] void deliver_to_layout(const WholeMessage& message, const HeaderVerdict& verdict);
  [[gnu::noinline]] void begin_long(Peer& from, const wire::Record& record);
  bool refuse_long(Peer& from, const wire::Record& record, const WholeMessage& message, IncomingMessage& incoming);
  void deliver_own(const WholeMessage& message, const OriginNotice& notice);

  // refused_active_messages.cc
  [[gnu::noinline]] bool keep_waiting(const WholeMessage& message);
  void copy_data(const WholeMessage& message, WaitingMessage& waiting);
  bool retry(WaitingMessage& waiting);
  bool retry_long(WaitingMessage& waiting);
  void go_on(Peer& from, const WaitingMessage& waiting, IncomingMessage& message, HeaderVerdict verdict);

  const Means means_;
};

// The message's data is to be thrown away.
inline bool is_buried(const HeaderVerdict& verdict) {
  return verdict.delivery == Delivery::bury || (verdict.buffer == nullptr && verdict.layout == nullptr);
}

}  // namespace openlapi
