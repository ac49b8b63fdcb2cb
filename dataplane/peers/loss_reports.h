// What the host is told at the end of a step.
#pragma once

#include <vector>

#include "dataplane/host/handler_host.h"
#include "dataplane/message/step_signs.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

struct Loss {
  PeerIndex peer;
  Fault fault;
};

class LossReports {
 public:
  LossReports(HandlerHost& host, StepSigns& signs) : host_(host), signs_(signs) {}

  void add(PeerIndex peer, Fault fault) {
    losses_.push_back({peer, fault});
    signs_.set(StepSigns::losses, true);
  }
  bool empty() const { return losses_.empty(); }

  // The host may end the context during any of the calls.
  [[gnu::noinline]] void report() {
    while (!losses_.empty()) {
      const Loss loss = losses_.front();
      losses_.erase(losses_.begin());
      signs_.set(StepSigns::losses, !losses_.empty());
      host_.report_fault(loss.fault, loss.peer);
    }
  }

 private:
  HandlerHost& host_;
  StepSigns& signs_;
  std::vector<Loss> losses_;
};

}  // namespace openlapi
