// What the engine asks of whoever sits above it: running the user's handlers and hearing of faults. lapi.h's types stay
// on the other side of this border. All functions are called inside Endpoint calls, with the context's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include "dataplane/transport/packet.h"

namespace openlapi {

// An active message whose first bytes are here. Pointers are valid during the call only.
struct ArrivedMessage {
  PeerIndex source;
  std::uint64_t handler;  // address or index, as the origin gave it
  void* user_header;
  std::uint32_t user_header_length;  // bytes
  std::uint64_t length;              // bytes of user data in the whole message
  void* one_packet_data;             // all of the user data when the message came in one packet, else null
};

enum class Delivery : std::uint8_t {
  deliver,  // copy the data to HeaderVerdict::buffer
  bury,     // accept the message, throw its data away
  drop,     // as if it never came: the header handler is called again later
};

enum class CompletionStyle : std::uint8_t {
  thread,        // in a completion-handler thread
  inline_local,  // in the receiving thread, it calls nothing of LAPI
  inline_reply,  // in the receiving thread when a reply can be sent at once, else in a completion-handler thread
};

struct HeaderVerdict {
  Delivery delivery = Delivery::deliver;
  CompletionStyle style = CompletionStyle::thread;
  void* buffer = nullptr;              // null with `deliver` means bury
  void* completion_handler = nullptr;  // null: none
  void* completion_info = nullptr;
};

// A message whose data is in place and whose completion handler has to run; counters move when it has returned.
struct CompletionRun {
  void* handler = nullptr;
  void* info = nullptr;
  PeerIndex source = kUnknownPeer;
  std::uint32_t source_life = 0;         // which incarnation of the source sent it
  std::uint64_t target_counter = 0;      // here; 0: none
  std::uint64_t completion_counter = 0;  // in the source; 0: none
};

enum class Fault : std::uint8_t {
  timeout,          // no acknowledgement or answer within the time-out
  no_connectivity,  // the peer is gone, or no path to it can be made
  unknown_handler,  // an active message named a handler index that is not registered here; it was buried
  out_of_memory,
  internal,  // peers disagree in a way that only a defect explains
};

class HandlerHost {
 public:
  virtual ~HandlerHost() = default;

  virtual HeaderVerdict run_header_handler(const ArrivedMessage& message) = 0;

  // Runs the handler now (true: it has returned) or queues it (false: Endpoint::completion_returned() follows). `now`
  // says whether the engine wants it inline; the host may queue all the same.
  virtual bool run_completion_handler(const CompletionRun& run, bool now) = 0;

  // Something asynchronous went wrong with `peer` (kUnknownPeer: none in particular). Everything that was outstanding
  // to a lost peer has been given up when this is called. The host may terminate the context after the present call.
  virtual void report_fault(Fault fault, PeerIndex peer) = 0;
};

}  // namespace openlapi
