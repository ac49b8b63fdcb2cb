// The program of an engine that only sends: no handlers of its own; faults are counted.
#pragma once

#include "dataplane/host/handler_host.h"

namespace openlapi::test {

class QuietHost final : public HandlerHost {
 public:
  HeaderVerdict run_header_handler(const ArrivedMessage&) override { return {}; }
  bool run_completion_handler(const CompletionRun&, bool) override { return true; }
  void run_send_handler(const SendCompletion&) override {}
  void report_fault(Fault, PeerIndex) override { ++faults; }

  unsigned faults = 0;
};

}  // namespace openlapi::test
