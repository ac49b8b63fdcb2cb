// Read-modify-write: the origin asks, the target changes the word and answers with its previous value.
#pragma once

#include "dataplane/host/requests.h"
#include "dataplane/operation/direct_operations.h"
#include "dataplane/transfer/origin_notices.h"
#include "dataplane/transfer/outbox.h"
#include "dataplane/transfer/pending_requests.h"

namespace openlapi {

class ReadModifyWrites {
 public:
  struct Means {
    Statistics& statistics;
    Admission& admission;
    OriginNotices& origins;
    Outbox& outbox;
    PendingRequests& requests;
    DirectOperations& direct;
    PeerIndex self;
  };
  explicit ReadModifyWrites(const Means& means) : means_(means) {}

  Submit begin(Peer& peer, const RmwRequest& request);
  Submit begin_at_self(const RmwRequest& request);

  void on_request(Peer& from, const wire::Record& record);
  void on_reply(Peer& from, const wire::Record& record);

 private:
  const Means means_;
};

}  // namespace openlapi
