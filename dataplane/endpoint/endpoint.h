// One endpoint is one context's engine: a passive, deterministic state machine. API calls, packets and the time go in;
// packets, memory copies and handler calls come out. It knows no threads, no sockets, and no clock of its own.
//
// Threads: the owner calls every function with the context's lock held. Nothing blocks. Handlers run inside progress()
// and inside the calls that start operations (messages to oneself, send completion handlers); from a header handler no
// function may be called, from an inline completion handler and a send completion handler all but progress().
//
// Reading order: progress.h, then one operation (operation/puts.cc), peers/peer.h, transfer/outbox.h.
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

// What one peer takes of this task, for tests of the bounds in tuning.h.
struct PeerLoad {
  std::size_t requests = 0;       // gets and read-modify-writes that it has not answered
  std::size_t owed_counters = 0;  // completion counters that it has to move
  std::size_t copies = 0;         // of messages that found no room
  std::uint64_t kept_bytes = 0;   // for long messages to it, and for lists of vectors of gets
  std::size_t backlog = 0;        // records that found no room
  std::size_t things = 0;         // that are kept because of what it has sent
  std::uint64_t bytes = 0;        // of these
  std::size_t early_rounds = 0;   // of collectives
};

// What an endpoint still has to do.
struct UnfinishedWork {
  std::size_t not_taken = 0;            // messages that wait here, and packets that peers have not acknowledged
  std::size_t not_answered = 0;         // gets and read-modify-writes
  std::size_t not_accepted_of_own = 0;  // messages to this task itself that its header handlers have refused so far
};

// Messages whose origin buffer became free, and whose data arrived, since the beginning (LAPI_Msgpoll).
struct CompletedMessages {
  std::uint64_t sends = 0, receives = 0;
};

struct EndpointSizes {
  std::uint32_t user_header = 0;     // bytes of the longest
  std::uint32_t packet_payload = 0;  // bytes of user header and data of one packet, at most
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
  // What endpoints have to share to understand each other: wire::kPacketVersion.
  static unsigned wire_version();

  // The transports, clock, resolver and host outlive the endpoint.
  Endpoint(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock, RouteResolver& resolver,
           HandlerHost& host);
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // Starts an operation. Target range, null pointers and lengths were checked by the caller.
  Submit put(const PutRequest& request);
  Submit get(const GetRequest& request);
  Submit active_message(const ActiveMessageRequest& request);
  Submit read_modify_write(const RmwRequest& request);
  Submit put_layout(const LayoutPutRequest& request);
  Submit get_layout(const LayoutGetRequest& request);
  Submit layout_message(const LayoutMessageRequest& request);

  // What begins between these two, a handler begins, though none of this endpoint's: nothing is answered busy (see
  // handlers_exhausted()), and what it brings about here waits for the next step. Calls nest.
  void enter_handler();
  void leave_handler();
  // The operation ends as if it had been given up, or, where the memory of a layout is not there, as if that had been
  // found out on the way.
  void give_up_unbegun(const UnbegunOperation& operation, Submit why);

  // One step of everything that can move. Returns how many packets, records or timers were handled; 0: nothing to do.
  // Step::again, right behind a step that answered 0, may leave timers to a later one (tuning::kStepsBetweenTimers).
  unsigned progress(Step step = Step::first);

  // While it holds, steps take in nothing that arrives: there is no memory for what it may need.
  void hold_arrivals(bool hold);

  // After a progress() that moved nothing: the word in which the next packet will show, if there is a single one.
  ArrivalWord arrival_word() const;

  // Sends what small messages wait in half-filled packets. progress() does it too.
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

  // Recovery (guide, chapter 19). purge(): everything that is under way to and from the peer is given up, what still
  // comes from it is dropped, and operations to it and collectives are refused until resume(), which begins anew: with
  // a new process of the peer, or with one that has purged this task likewise. `epoch` is larger than all epochs that
  // this task has used before: nothing that was sent before reaches what comes after.
  void purge(PeerIndex peer);
  void resume(PeerIndex peer, std::uint64_t epoch);

  // From now on all layouts are guarded, or only those that ask for it: memory that they name and that is not there is
  // an error of their message alone. The process has called catch_memory_faults().
  void guard_layouts(bool on);

  // Somebody waits for what the peer will send of itself: it is watched although it owes no answer. Calls nest.
  void expect_from(PeerIndex peer);
  void expect_no_more_from(PeerIndex peer);

  // For sleeping. deadline(): when progress() has to be called at the latest although nothing arrives (UINT64_MAX:
  // never). has_work(): progress() would do something now (packets not yet sent, refused messages to try again).
  Nanoseconds deadline() const;
  bool has_work() const;

  // Whether everything that was sent has been taken by the peers (LAPI_Term waits for it, bounded).
  bool drained();

  // Whether other contexts' handlers have to stop, since there is an end of what is accepted from them.
  bool handlers_exhausted() const;

  UnfinishedWork unfinished() const;

  CompletedMessages completed() const;
  EndpointSizes sizes() const;
  MessageStatistics statistics(StatisticsPath path) const;

  void set_timeout(Nanoseconds timeout);
  void set_ack_threshold(std::uint32_t packets);

  // For tests and budgets.
  PeerLoad load(PeerIndex peer) const;

  const MessageDirectory& directory() const;  // for explain_memory_faults()

 private:
  std::unique_ptr<EndpointParts> parts_;
};

}  // namespace openlapi
