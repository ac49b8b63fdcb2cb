// What a thread does for another task: when a wrong address kills this task, a line says whose operation named it.
#pragma once

#include "dataplane/transport/packet.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

// A packet whose records a thread carries out; lives as long as it does.
class ServedPacket {
 public:
  ServedPacket(PeerIndex self, PeerIndex source);
  ~ServedPacket();
  ServedPacket(const ServedPacket&) = delete;
  ServedPacket& operator=(const ServedPacket&) = delete;

  wire::Record record;  // the one that is carried out; at first only its kind is set, to none
  const PeerIndex self, source;

 private:
  ServedPacket* const outer_;
};

extern constinit thread_local ServedPacket* served_packet [[gnu::tls_model("initial-exec")]];

inline ServedPacket::ServedPacket(PeerIndex self, PeerIndex source)
    : self(self), source(source), outer_(served_packet) {
  record.header.kind = 0;
  served_packet = this;
}
inline ServedPacket::~ServedPacket() { served_packet = outer_; }

// Handlers of SIGSEGV and SIGBUS that write the line and let the signal do what it does by default. Where the program
// has a handler it stays. At most once per process; any thread.
void explain_memory_faults();

}  // namespace openlapi
