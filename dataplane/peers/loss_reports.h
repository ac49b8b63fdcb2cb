// What the host is told at the end of a step.
#pragma once

#include <vector>

#include "dataplane/host/handler_host.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

struct Loss {
  PeerIndex peer;
  Fault fault;
};

class LossReports {
 public:
  explicit LossReports(HandlerHost& host) : host_(host) {}

  void add(PeerIndex peer, Fault fault) { losses_.push_back({peer, fault}); }
  bool empty() const { return losses_.empty(); }

  // The host may end the context in any of the calls.
  [[gnu::noinline]] void report() {
    while (!losses_.empty()) {
      const Loss loss = losses_.front();
      losses_.erase(losses_.begin());
      host_.report_fault(loss.fault, loss.peer);
    }
  }

 private:
  HandlerHost& host_;
  std::vector<Loss> losses_;
};

}  // namespace openlapi
