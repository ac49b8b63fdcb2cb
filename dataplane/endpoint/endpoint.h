// One endpoint is one context's engine: a passive, deterministic state machine. API calls, packets and the time go in;
// packets, memory copies and handler calls come out. It knows no threads, no sockets, and no clock of its own.
//
// Threads: the owner calls every function with the context's lock held. Nothing blocks. Handlers run inside progress()
// and inside the calls that start operations (messages to oneself, send completion handlers). A header handler may not
// call any function; an inline completion handler or a send completion handler may call all but progress().
//
// Reading order: progress() in endpoint.cc, then one operation (operation/puts.cc), peers/peer.h, transfer/outbox.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "dataplane/base/clock.h"
#include "dataplane/base/step.h"
#include "dataplane/counter/lost_counters.h"
#include "dataplane/host/endpoint_config.h"
#include "dataplane/host/fence_state.h"
#include "dataplane/host/handler_host.h"
#include "dataplane/host/message_statistics.h"
#include "dataplane/host/requests.h"
#include "dataplane/host/route_resolver.h"
#include "dataplane/transport/transport.h"

namespace openlapi {

// How much of this task's resources one peer uses, for tests of the limits in tuning.h; and when it was heard.
struct PeerLoad {
  std::size_t requests = 0;       // gets and read-modify-writes that it has not answered
  std::size_t owed_counters = 0;  // completion counters that it still has to move
  std::size_t copies = 0;         // of messages for which there was no room
  std::uint64_t kept_bytes = 0;   // for long messages to it, and for lists of vectors of gets
  std::size_t backlog = 0;        // records for which there was no room
  std::size_t things = 0;         // things kept because of what it has sent
  std::uint64_t bytes = 0;        // bytes of these things
  std::size_t early_rounds = 0;   // of collectives
  Nanoseconds last_heard = 0;     // newest packet, acknowledgements included; 0: none, or not reached over a network
};

// What an endpoint still has to do.
struct UnfinishedWork {
  std::size_t not_taken = 0;            // messages that wait here, and packets that peers have not acknowledged
  std::size_t not_answered = 0;         // gets and read-modify-writes
  std::size_t not_accepted_of_own = 0;  // messages to this task itself that its header handlers have refused so far
};

// Messages whose origin buffer became free, and messages whose data has arrived, since the start (LAPI_Msgpoll).
struct CompletedMessages {
  std::uint64_t sends = 0, receives = 0;
};

struct EndpointSizes {
  std::uint32_t user_header = 0;     // bytes of the longest
  std::uint32_t packet_payload = 0;  // bytes of user header and data in one packet, at most
  std::uint32_t packets_out = 0;     // towards one peer, at most
};

class Collectives;
class Counters;
class Fences;
class MessageDirectory;
class PeerTable;
struct EndpointParts;  // all state; dataplane/endpoint/endpoint_parts.h

class Endpoint {
 public:
  // The version that endpoints must share to understand each other: wire::kPacketVersion.
  static unsigned wire_version();

  // The transports, clock, resolver and host outlive the endpoint.
  Endpoint(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock, RouteResolver& resolver,
           HandlerHost& host);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Starts an operation. The caller has checked the target's range, null pointers and lengths.
  Submit put(const PutRequest& request);
  Submit get(const GetRequest& request);
  Submit active_message(const ActiveMessageRequest& request);
  Submit read_modify_write(const RmwRequest& request);
  Submit put_layout(const LayoutPutRequest& request);
  Submit get_layout(const LayoutGetRequest& request);
  Submit layout_message(const LayoutMessageRequest& request);

  // Operations that begin between these two calls come from a handler of another endpoint: they are never answered busy
  // (see handlers_exhausted()), and what they cause here waits for the next step. Calls nest.
  void enter_handler();
  void leave_handler();
  // The operation ends as if it had been given up, or, if memory of a layout is not there, as if that had been found
  // out while it was carried out.
  void give_up_unbegun(const UnbegunOperation& operation, Submit why);

  // One step of everything that can move. Returns how many packets, records or timers were handled; 0: there was
  // nothing to do. Step::again, right after a step that returned 0, may postpone timers (tuning::kStepsBetweenTimers).
  // Step::upkeep returns 0 if nothing is unacknowledged.
  unsigned progress(Step step = Step::first);

  // While on, steps take in nothing that arrives, because there is no memory for what it may need.
  void hold_arrivals(bool hold);

  // After a progress() that moved nothing: the word in which the next packet will show, if there is a single one.
  ArrivalWord arrival_word() const;

  // Sends the small messages that wait in half-filled packets. progress() does so, too.
  void flush();

  // A completion handler that run_completion_handler() had queued has returned.
  void completion_returned(const CompletionRun& run);

  // Whether a reply from an inline completion handler would find room.
  bool reply_has_room(PeerIndex peer);

  // Parts of the engine that have calls of their own.
  Fences& fences();
  Collectives& collectives();
  Counters& counters() const;      // losses of counters, and who watches them
  const PeerTable& peers() const;  // who was talked to, or purged, and in which of its incarnations

  // Recovery (guide, chapter 19). purge() gives up everything in progress to and from the peer. What still comes from
  // it is dropped, and operations to it, and collectives, are refused until resume(). resume() begins anew: with a new
  // process of the peer, or with one that has purged this task as well. `epoch` must be larger than all epochs that
  // this task has used before, so that nothing sent earlier affects what comes later.
  void purge(PeerIndex peer);
  void resume(PeerIndex peer, std::uint64_t epoch);

  // Guards all layouts from now on, or only those that ask for it: then memory that they name and that is not there is
  // an error of their message only. The process must have called catch_memory_faults().
  void guard_layouts(bool on);

  // Somebody waits for a message that the peer sends by itself: it is watched although it owes no answer. Calls nest.
  void expect_from(PeerIndex peer);
  void expect_no_more_from(PeerIndex peer);

  // For sleeping. deadline(): the latest time at which progress() has to be called even if nothing arrives (UINT64_MAX:
  // never). has_work(): progress() would do something now (send packets, retry refused messages).
  Nanoseconds deadline() const;
  bool has_work() const;

  // Whether the peers have taken everything that was sent. (LAPI_Term waits for it, for a limited time.)
  bool drained();

  // Whether other contexts' handlers must stop, because the limit of what is accepted from them is reached.
  bool handlers_exhausted() const;

  UnfinishedWork unfinished() const;

  CompletedMessages completed() const;
  EndpointSizes sizes() const;
  MessageStatistics statistics(StatisticsPath path) const;

  void set_timeout(Nanoseconds timeout);
  void set_ack_threshold(std::uint32_t packets);

  // For tests and budgets, and for users who have to know which peers say nothing.
  PeerLoad load(PeerIndex peer) const;

  const MessageDirectory& directory() const;  // for explain_memory_faults()

 private:
  std::unique_ptr<EndpointParts> parts_;
};

}  // namespace openlapi
