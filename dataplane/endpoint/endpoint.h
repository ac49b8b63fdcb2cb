// One endpoint is one context's engine: a passive, deterministic state machine. API calls, packets and the time go in;
// packets, memory copies and handler calls come out. It knows no threads, no sockets, and no clock of its own.
//
// Threads: the owner calls every function with the context's lock held. Nothing blocks. Handlers run inside progress()
// and inside the calls that start operations (messages to oneself, send completion handlers); from a header handler no
// function may be called, from an inline completion handler and a send completion handler all but progress().
//
// Reading order: progress() in endpoint_progress.cc, then endpoint_submit.cc, endpoint_receive.cc, peer.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dataplane/base/clock.h"
#include "dataplane/base/siphash.h"
#include "dataplane/base/step.h"
#include "dataplane/endpoint/handler_host.h"
#include "dataplane/layout/layout_cursor.h"
#include "dataplane/operation/lost_counters.h"
#include "dataplane/transport/transport.h"
#include "dataplane/tuning.h"
#include "dataplane/wire/operation_header.h"

namespace openlapi {

struct EndpointConfig {
  PeerIndex self = 0;
  std::uint32_t tasks = 1;
  SipKey job_key;                    // what the job's tasks share and nobody else knows
  bool packet_tags = false;          // packets over unreliable transports carry a keyed tag; the same in all tasks
  bool key_may_differ = false;       // users give the key: who has another one is no mere stranger
  std::uint32_t instance = 1;        // which context of the task; part of every packet
  std::uint64_t epoch = 1;           // this incarnation; later incarnations of the same task have larger ones
  std::uint32_t copy_limit = 16384;  // messages up to this size (user header and data) are copied before a call returns
  std::uint32_t copy_buffers = 128;  // such copies that may wait before calls answer `busy`; peers share (fair_share.h)
  std::uint32_t ack_threshold = 30;  // packets
  std::uint32_t idle_loops_between_timers = 1'000'000;  // MP_RETRANSMIT_INTERVAL; an upper bound
  Nanoseconds timeout = 900 * kSecond;                  // UINT64_MAX: never
  bool bulk = false;                                    // long contiguous data is read by the adapter where one can
  std::uint64_t bulk_minimum = 153'600;  // bytes of data from which on; messages that are copied never are
  // Of messages, fences, requests and collectives, and of transmissions; all tasks have the same.
  std::uint64_t first_number = 1;
  // Number that the first packet of each life of each pair carries, the same in all tasks; empty, as it is but in
  // tests: one that nobody else can foresee.
  std::optional<std::uint32_t> first_packet{};

  // Of 32 bits, where the number before the first one is wanted; lives of peers begin with it too.
  std::uint32_t before_first() const { return static_cast<std::uint32_t>(first_number - 1); }
};

// The ways to a peer.
struct Route {
  std::array<Transport*, tuning::kMaxPathsPerPeer> paths{};  // best first
  std::size_t count = 0;                                     // of `paths`; 0: it cannot be reached
  std::uint64_t epoch = 0;  // the incarnation whose addresses these are; 0: not known, the first packet asks for it
  std::string reason;       // why `count` is 0
};

// Where routes come from. Asked once, at first contact, and again when a purged peer is resumed; may block for
// milliseconds (PMIx).
class RouteResolver {
 public:
  virtual ~RouteResolver() = default;
  // Adds `peer` to the transports that can serve it.
  virtual Route resolve(PeerIndex peer) = 0;
};

enum class Submit : std::uint8_t {
  accepted,
  busy,           // no room; nothing was changed. Call progress() and try again.
  unreachable,    // the resolver found no way; a fault was not reported, the caller returns the error
  purged,         // the user has purged the peer
  origin_memory,  // guarded layouts: this task's side names memory that is not there; nothing was sent
  target_memory,  // of an operation on oneself: the other side does; some of its memory may have been written
};

// Whether a transfer may be bulk transfer; EndpointConfig::bulk_minimum holds all the same.
enum class BulkHint : std::uint8_t { by_task, never, always };

// Counter fields are addresses of counters: in this task (origin, completion), in the target (target); 0: none.
// `send_handler` runs once for every accepted operation, after the origin counter has moved, when the origin buffers
// may be changed; also for messages that were given up. `completion_handler` of a get runs like that of an active
// message, when the data is here and the origin counter has moved.
struct PutRequest {
  PeerIndex target;
  std::uint64_t target_address;
  const void* data;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

struct GetRequest {
  PeerIndex target;
  std::uint64_t target_address;
  void* buffer;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  HandlerCall completion_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

struct ActiveMessageRequest {
  PeerIndex target;
  std::uint64_t handler;
  const void* user_header;
  std::uint32_t user_header_length;  // a multiple of 4, at most Endpoint::max_user_header()
  const void* data;
  std::uint64_t length;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
  BulkHint bulk = BulkHint::by_task;
};

// Transfers whose data is not contiguous, on one side or on both. The cursors, and the lists that they refer to, are
// used during the call only; a long message's data, and a data gather/scatter program, stay as they are until the
// origin counter moves. As many bytes move as the shorter side has.
struct LayoutPutRequest {
  PeerIndex target;
  LayoutCursor* source;
  LayoutCursor* destination;  // addresses in the target
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
};

struct LayoutGetRequest {
  PeerIndex target;
  LayoutCursor* source;  // addresses in the target
  LayoutCursor* destination;
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  HandlerCall completion_handler = {};
};

struct LayoutMessageRequest {
  PeerIndex target;
  std::uint64_t handler;
  const void* user_header;
  std::uint32_t user_header_length;
  LayoutCursor* source;
  bool vector;  // the header handler answers with a vector
  std::uint64_t target_counter;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler = {};
};

struct RmwRequest {
  PeerIndex target;
  wire::RmwOperation operation;
  std::uint8_t width;  // 4 or 8 bytes
  std::uint64_t target_address;
  std::uint64_t input;
  std::uint64_t swap_value;
  void* previous;  // `width` bytes; null: not wanted
  std::uint64_t origin_counter;
  HandlerCall send_handler = {};  // the operands are copied at once
};

// An operation whose caller was told that it begins, and which cannot.
struct UnbegunOperation {
  PeerIndex target;
  std::uint64_t origin_counter;
  std::uint64_t completion_counter;
  HandlerCall send_handler;
};

// A fence in progress; owned by the caller, used with the endpoint that began it.
struct FenceTicket {
  std::uint64_t number = 0;
  std::uint64_t last_request = 0;  // gets and read-modify-writes up to this serial number belong to the fence
};

enum class FenceState : std::uint8_t { pending, done, peer_lost, peer_purged };

// `filled`: an exchange's values are there, and it waits for confirm_exchange().
enum class CollectiveState : std::uint8_t { pending, filled, done, peer_lost, peer_purged };

// As lapi_statistics_t: one set for packets that leave the node's memory, one for shared memory, one for oneself.
struct MessageStatistics {
  std::uint64_t duplicate_packets = 0;
  std::uint64_t retransmitted_packets = 0;  // and attachments and bulk transfers that the peer could not carry out
  std::uint64_t ghost_packets = 0;          // from strangers, former lives, or for nobody
  std::uint64_t packets_sent = 0;           // and attachments and bulk transfers, each as one
  std::uint64_t packets_received = 0;
  std::uint64_t data_sent = 0;       // bytes of user data of messages sent
  std::uint64_t data_received = 0;   // bytes of user data of messages that are complete here
  std::uint64_t bulk_sent = 0;       // messages and answers to gets that the peer's adapter has read here
  std::uint64_t bulk_received = 0;   // and that this task's adapter has read
  std::uint64_t bulk_fallbacks = 0;  // failures here or there after which the data came in packets
};

// What one peer takes of this task, for tests of the bounds in tuning.h.
struct PeerLoad {
  std::size_t requests = 0;         // gets and read-modify-writes that it has not answered
  std::size_t owed_counters = 0;    // completion counters that it has to move
  std::size_t copies = 0;           // of messages that found no room
  std::uint64_t kept_bytes = 0;     // for long messages to it, and for lists of vectors of gets
  std::size_t backlog = 0;          // records that found no room
  std::size_t things = 0;           // that are kept because of what it has sent
  std::uint64_t bytes = 0;          // of these
  std::size_t early_rounds = 0;     // of collectives
};

enum class StatisticsPath : std::uint8_t { network, shared_memory, local };

class EndpointCore;  // all state; dataplane/endpoint/endpoint_core.h

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

  // All operations begun before are complete at their targets when the ticket's state is done.
  FenceTicket begin_fence();
  // `awaited`, while it is pending: a task that has not answered; unchanged: none, or it waits for answers to gets.
  FenceState fence_state(const FenceTicket& ticket, PeerIndex* awaited = nullptr);
  void forget_fence(const FenceTicket& ticket);  // nobody asks for its state any more

  // Collective calls, one at a time per endpoint: a barrier, or an exchange of one 64-bit value per task. An exchange
  // is done when all tasks have confirmed theirs: each has taken the values by then.
  void begin_barrier();
  void begin_exchange(std::uint64_t value);
  void confirm_exchange();
  CollectiveState collective_state();
  std::span<const std::uint64_t> exchanged() const;  // by task; valid until the next collective begins

  // Recovery (guide, chapter 19). purge(): everything that is under way to and from the peer is given up, what still
  // comes from it is dropped, and operations to it and collectives are refused until resume(), which begins anew: with
  // a new process of the peer, or with one that has purged this task likewise. `epoch` is larger than all epochs that
  // this task has used before: nothing that was sent before reaches what comes after.
  void purge(PeerIndex peer);
  void resume(PeerIndex peer, std::uint64_t epoch);
  bool purged(PeerIndex peer) const;
  // Another number each time that all that was under way with the peer is given up.
  std::uint32_t life_of(PeerIndex peer) const;

  // Whether operations that would have moved a counter of this task were given up, since it was last forgotten.
  CounterLoss counter_loss(std::uint64_t counter) const;
  void forget_counter_loss(std::uint64_t counter);

  // From now on all layouts are guarded, or only those that ask for it: memory that they name and that is not there is
  // an error of their message alone. The process has called catch_memory_faults().
  void guard_layouts(bool on);

  // From now on HandlerHost::counter_moves() is called, or no longer.
  void watch_counters(bool on);

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

  // What has not been taken: messages that wait here, and packets that peers have not acknowledged.
  std::size_t not_taken() const;

  // Gets and read-modify-writes whose answers have not come.
  std::size_t not_answered() const;

  // Messages to this task itself that its header handlers have refused so far.
  std::size_t not_accepted_of_own() const;

  // Messages whose origin buffer became free / whose data arrived since the beginning (LAPI_Msgpoll).
  std::uint64_t sends_completed() const;
  std::uint64_t receives_completed() const;

  std::uint32_t max_user_header() const;
  std::uint32_t max_packet_payload() const;  // user header and data of one packet
  std::uint32_t max_packets_out() const;     // towards one peer
  MessageStatistics statistics(StatisticsPath path) const;

  void set_timeout(Nanoseconds timeout);
  void set_ack_threshold(std::uint32_t packets);

  // For tests and budgets: bytes of state held, and peers that were contacted.
  std::size_t contacted_peers() const;
  PeerLoad load(PeerIndex peer) const;

  EndpointCore& core() { return *core_; }  // for explain_memory_faults()

 private:
  std::unique_ptr<EndpointCore> core_;
};

}  // namespace openlapi
