// What the engine needs from the layer above it: it runs the user's handlers and is told of faults. The types of lapi.h
// stay on that side. All functions are called during Endpoint calls, with the context's lock held.
#pragma once

#include <cstddef>
#include <cstdint>

#include <memory>

#include "dataplane/host/path_status.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/transport/packet.h"

namespace openlapi {

// An active message whose first bytes have arrived. Pointers are valid only during the call.
struct ArrivedMessage {
  PeerIndex source;
  std::uint64_t handler;  // address or index, as the origin gave it
  void* user_header;
  std::uint32_t user_header_length;  // bytes
  std::uint64_t length;              // bytes of user data in the whole message
  void* one_packet_data;             // all of the user data if the message came in one packet, else null
  bool vector = false;               // the header handler answers with a vector, not with a buffer
  bool in_atoms = false;             // the origin's program has an atom size, and no packet ends within an atom
};

enum class Delivery : std::uint8_t {
  deliver,  // copy the data to HeaderVerdict::buffer
  bury,     // accept the message but throw its data away
  drop,     // as if the message had not come: the header handler is called again later
};

enum class CompletionStyle : std::uint8_t {
  thread,        // in a completion-handler thread
  inline_local,  // in the receiving thread; it makes no LAPI calls
  inline_reply,  // in the receiving thread when a reply can be sent at once, else in a completion-handler thread
};

struct HeaderVerdict {
  Delivery delivery = Delivery::deliver;
  CompletionStyle style = CompletionStyle::thread;
  void* buffer = nullptr;              // null (and no layout) with `deliver` means bury
  void* completion_handler = nullptr;  // null: none
  void* completion_info = nullptr;
  // Where the data goes instead of `buffer`: as much as the layout has room for.
  std::unique_ptr<LayoutCursor> layout{};
};

// A message whose data is in place and whose completion handler has to run; the counters move after it has returned.
struct CompletionRun {
  void* handler = nullptr;
  void* info = nullptr;
  PeerIndex source = kUnknownPeer;
  std::uint32_t source_incarnation = 0;  // which incarnation of the source sent it
  std::uint64_t target_counter = 0;      // here; 0: none
  std::uint64_t completion_counter = 0;  // in the source; 0: none
};

// A function of the user's and its argument, which the engine only passes on. Null function: none.
struct HandlerCall {
  void* function = nullptr;
  void* info = nullptr;
};

enum class Fault : std::uint8_t {
  timeout,          // no acknowledgement or answer within the time-out
  adapters_down,    // the same, and no adapter of this task is up
  no_path,          // the same, and there are several paths to the peer, of which none brings anything
  no_connectivity,  // the peer is gone, or no path to it can be made
  purged,           // the user has purged the peer; only send handlers are told
  unknown_handler,  // an active message named a handler index that is not registered here; it was buried
  not_own_memory,   // 32-bit task: a message named memory that only a 64-bit task can have; it was not carried out
  refused,          // a get or read-modify-write of this task named memory that the peer, a 32-bit task, cannot have
  // Memory of this task that a message's layout names is not there, or not writable. Data that was not moved yet is
  // zero at the target, or thrown away; counters, handlers and fences go on as if nothing had happened.
  origin_vector,         // of an operation of this task to or from the peer
  target_vector,         // of an operation of the peer's, or of the vector that a header handler has returned
  program_memory,        // what a data gather/scatter program names, on either side
  out_of_memory,         // what the peer has sent needs more memory than is available here; it is lost
  too_much_kept,         // the peer has made this task keep more than is allowed (tuning.h), and is dropped
  other_secret,          // the peer timed out, and packets made with another key came from its address
  other_version,         // the peer has another wire version
  lost_for_good,         // given up for its silence so often that it can be told no more; it is dropped
  target_out_of_memory,  // a get of this task needed more memory than the peer has; it has ended without data
  internal,              // peers disagree in a way that only a defect explains
};

// The origin buffers of a message of this task may be reused: it was copied or sent, or given up.
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

  // Runs the handler now (true: it has returned) or queues it (false: Endpoint::completion_returned() will be called).
  // `now`: the engine wants it inline; the host may queue it all the same.
  virtual bool run_completion_handler(const CompletionRun& run, bool now) = 0;

  // Runs a send completion handler at once. The engine calls this when its state is consistent, at the end of a step,
  // or of a submission that was made outside handlers: so the handler may begin operations.
  virtual void run_send_handler(const SendCompletion& completion) = 0;

  // A counter of this task is about to be moved by an operation from or to `peer`. Only called while
  // Endpoint::watch_counters() is on.
  virtual void counter_moves(std::uint64_t counter, PeerIndex peer) {
    (void)counter;
    (void)peer;
  }

  // For some seconds, packets from `peer`'s address were made with another key than the job's, and none with the right
  // one. Called once; if it goes on until the peer times out, Fault::other_secret follows. Only called with
  // EndpointConfig::key_may_differ.
  virtual void warn_of_other_secret(PeerIndex peer) { (void)peer; }

  // `peer` has this wire version, which differs from ours. Fault::other_version follows.
  virtual void name_other_version(PeerIndex peer, unsigned version) { (void)peer, (void)version; }

  // Whether none of the adapters over which `peer` is reached has a link now. Asked when it has timed out.
  virtual bool adapters_down(PeerIndex peer) { return (void)peer, false; }

  // Of several paths to `peer` one has failed or serves again. Called at most once a second for a peer.
  virtual void path_changed(PeerIndex peer, const PathChange& change) { (void)peer, (void)change; }

  // For people, as the last.
  virtual void address_changed(const AddressChange& change) { (void)change; }

  // Something went wrong asynchronously with `peer` (kUnknownPeer: no particular one). All that was outstanding to a
  // lost peer has been given up before this call. The host may terminate the context after the present call.
  virtual void report_fault(Fault fault, PeerIndex peer) = 0;
};

}  // namespace openlapi
