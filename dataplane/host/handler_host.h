// What the engine asks of whoever sits above it: running the user's handlers and hearing of faults. lapi.h's types stay
// on the other side of this border. All functions are called inside Endpoint calls, with the context's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include <memory>

#include "dataplane/layout/layout_cursor.h"
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
  bool vector = false;               // the header handler answers with a vector, not with a buffer
  bool in_atoms = false;             // the origin's program has an atom size, and no packet ends inside of an atom
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
  void* buffer = nullptr;              // null (and no layout) with `deliver` means bury
  void* completion_handler = nullptr;  // null: none
  void* completion_info = nullptr;
  // Where the data goes instead of to `buffer`: as much of it as the layout has room for.
  std::unique_ptr<LayoutCursor> layout{};
};

// A message whose data is in place and whose completion handler has to run; counters move when it has returned.
struct CompletionRun {
  void* handler = nullptr;
  void* info = nullptr;
  PeerIndex source = kUnknownPeer;
  std::uint32_t source_incarnation = 0;  // which incarnation of the source sent it
  std::uint64_t target_counter = 0;      // here; 0: none
  std::uint64_t completion_counter = 0;  // in the source; 0: none
};

// A function of the user's and its argument, which the engine carries and hands back. Null function: none.
struct HandlerCall {
  void* function = nullptr;
  void* info = nullptr;
};

enum class Fault : std::uint8_t {
  timeout,          // no acknowledgement or answer within the time-out
  no_connectivity,  // the peer is gone, or no path to it can be made
  purged,           // the user has purged the peer; told to send handlers only
  unknown_handler,  // an active message named a handler index that is not registered here; it was buried
  not_own_memory,   // 32-bit task: a message named memory that only a 64-bit task can have; it was not carried out
  refused,          // a get or read-modify-write of this task named memory that the peer, a 32-bit task, cannot have
  // Memory of this task that a message's layout names is not there, or may not be written. What of the message was not
  // yet moved is zero at its target, or thrown away; counters, handlers and fences go on as if nothing had happened.
  origin_vector,         // of an operation of this task to or from the peer
  target_vector,         // of an operation of the peer's, or of the vector that a header handler has answered
  program_memory,        // what a data gather/scatter program names, on either side
  out_of_memory,         // what the peer has sent needs more memory than there is here; it is lost
  too_much_kept,         // the peer has made this task keep more than any may (tuning.h), and is dropped
  other_secret,          // the peer timed out, and packets came from where it is that the job's key has not made
  other_version,         // the peer has another wire version
  lost_for_good,         // the peer was given up for its silence so often that it can be told no more, and is dropped
  target_out_of_memory,  // a get of this task needed more memory than the peer has; it has ended without its data
  internal,              // peers disagree in a way that only a defect explains
};

// The origin buffers of a message of this task may be changed: it has been copied or sent, or was given up.
struct SendCompletion {
  HandlerCall handler;
  PeerIndex target = kUnknownPeer;
  bool given_up = false;  // because of `fault`; the origin counter does not move then
  Fault fault = Fault::internal;
};

class HandlerHost {
 public:
  virtual ~HandlerHost() = default;

  virtual HeaderVerdict run_header_handler(const ArrivedMessage& message) = 0;

  // Runs the handler now (true: it has returned) or queues it (false: Endpoint::completion_returned() follows). `now`
  // says whether the engine wants it inline; the host may queue all the same.
  virtual bool run_completion_handler(const CompletionRun& run, bool now) = 0;

  // Runs a send completion handler, at once. The engine calls this at the end of a submission from outside handlers or
  // of a step, when the state is consistent: the handler may begin operations.
  virtual void run_send_handler(const SendCompletion& completion) = 0;

  // A counter of this task is about to be moved by an operation from or to `peer`. Only while
  // Endpoint::watch_counters().
  virtual void counter_moves(std::uint64_t counter, PeerIndex peer) {
    (void)counter;
    (void)peer;
  }

  // For some seconds packets have come from where `peer` is that the job's key has not made, and never any other. Told
  // once; if it goes on until the peer times out, Fault::other_secret follows. Only with
  // EndpointConfig::key_may_differ.
  virtual void warn_of_other_secret(PeerIndex peer) { (void)peer; }

  // `peer` has this wire version, which is another one. Fault::other_version follows.
  virtual void name_other_version(PeerIndex peer, unsigned version) { (void)peer, (void)version; }

  // Something asynchronous went wrong with `peer` (kUnknownPeer: none in particular). Everything that was outstanding
  // to a lost peer has been given up when this is called. The host may terminate the context after the present call.
  virtual void report_fault(Fault fault, PeerIndex peer) = 0;
};

}  // namespace openlapi
