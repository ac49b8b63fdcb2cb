// Answers peers whose gets and read-modify-writes cannot be carried out, so that their origins give them up.
#pragma once

#include "dataplane/host/handler_host.h"
#include "dataplane/transfer/outbox.h"

namespace openlapi {

class Refusals {
 public:
  Refusals(HandlerHost& host, Outbox& outbox) : host_(host), outbox_(outbox) {}

  // The request names memory that a 32-bit task cannot have.
  void not_own_memory(Peer& from, std::uint32_t request_id) {
    host_.report_fault(Fault::not_own_memory, from.index);
    refuse(from, request_id, wire::RefusalReason::not_own_memory);
  }

  // Nothing of the answer was sent. This record is short, so there may be memory for it all the same.
  void no_memory(Peer& from, std::uint32_t request_id) {
    host_.report_fault(Fault::out_of_memory, from.index);
    refuse(from, request_id, wire::RefusalReason::out_of_memory);
  }

 private:
  void refuse(Peer& from, std::uint32_t request_id, wire::RefusalReason reason) {
    outbox_.answer(from, wire::RecordKind::request_refused, wire::RequestRefusedBody{request_id, reason});
  }

  HandlerHost& host_;
  Outbox& outbox_;
};

}  // namespace openlapi
