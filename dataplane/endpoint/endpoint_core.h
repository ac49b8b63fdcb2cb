// The state behind Endpoint and the steps that change it; one file per concern, which its first lines tell:
// endpoint_open.cc, _submit, _send, _receive, _layout_send and _layout_receive, _deliver, _reads and _layout_reads,
// _bulk, _fence, _faults, _recovery, _refuse, _guard, and _progress, the loop.
//
// What few messages need is kept out of the functions that all pass through (noinline), and what ends each of them is
// part of these (always_inline): the short path stays small, and makes few calls.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "dataplane/endpoint/endpoint.h"
#include "dataplane/message/direct_read.h"
#include "dataplane/message/layout_record.h"
#include "dataplane/message/outgoing_messages.h"
#include "dataplane/message/record_bytes.h"
#include "dataplane/message/request_table.h"
#include "dataplane/message/whole_message.h"
#include "dataplane/operation/completion_counter.h"
#include "dataplane/paths/channel_set.h"
#include "dataplane/peers/peer.h"
#include "dataplane/sync/collective.h"
#include "dataplane/tuning.h"

namespace openlapi {

class EndpointCore final : public Collective::Outbox, public ChannelListener {
 public:
  EndpointCore(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
               RouteResolver& resolver, HandlerHost& host);
  ~EndpointCore();  // endpoint_bulk.cc
  EndpointCore(const EndpointCore&) = delete;
  EndpointCore& operator=(const EndpointCore&) = delete;

  // endpoint_submit.cc
  Submit put(const PutRequest& request);
  Submit get(const GetRequest& request);
  Submit active_message(const ActiveMessageRequest& request);
  Submit read_modify_write(const RmwRequest& request);

  // endpoint_layout_send.cc, endpoint_layout_receive.cc
  Submit put_layout(const LayoutPutRequest& request);
  Submit layout_message(const LayoutMessageRequest& request);
  Submit get_layout(const LayoutGetRequest& request);

  // The end of a submission: send completion handlers run when no handler is on the stack.
  Submit submitted(Submit result) {
    if (!send_completions_.empty() && inline_depth_ == 0) [[unlikely]]
      run_send_handlers();
    return result;
  }

  void enter_handler() { ++inline_depth_, ++guest_depth_; }
  void leave_handler() { --inline_depth_, --guest_depth_; }
  void give_up_unbegun(const UnbegunOperation& operation, Submit why);  // endpoint_faults.cc

  // endpoint_progress.cc
  unsigned progress(Step step);
  void hold_arrivals(bool hold) { arrivals_held_ = hold; }
  ArrivalWord arrival_word() const;
  void flush();
  Nanoseconds deadline() const;
  bool has_work() const;
  bool drained();
  std::size_t not_taken() const;
  std::size_t not_answered() const { return requests_.size(); }
  std::size_t not_accepted_of_own() const { return own_waiting_; }
  bool handlers_exhausted() const;

  void completion_returned(const CompletionRun& run);
  bool reply_has_room(PeerIndex peer);

  // endpoint_recovery.cc
  void purge(PeerIndex index);
  void resume(PeerIndex index, std::uint64_t epoch);
  bool purged(PeerIndex index) const;
  std::uint32_t life_of(PeerIndex index) const;
  CounterLoss counter_loss(std::uint64_t counter) const { return lost_counters_.find(counter); }
  void forget_counter_loss(std::uint64_t counter) { lost_counters_.forget(counter); }
  void watch_counters(bool on) { counters_watched_ = on; }
  void guard_layouts(bool on) { guard_layouts_ = on; }
  void expect_from(PeerIndex index);
  void expect_no_more_from(PeerIndex index);

  // endpoint_fence.cc
  FenceTicket begin_fence();
  FenceState fence_state(const FenceTicket& ticket, PeerIndex* awaited);
  void forget_fence(const FenceTicket& ticket);
  void begin_barrier();
  void begin_exchange(std::uint64_t value);
  void confirm_exchange();
  CollectiveState collective_state() const;
  std::span<const std::uint64_t> exchanged() const { return collective_.exchanged(); }

  std::uint64_t sends_completed() const { return sends_completed_; }
  std::uint64_t receives_completed() const { return receives_completed_; }
  std::uint32_t max_user_header() const;
  std::uint32_t max_packet_payload() const;
  std::uint32_t max_packets_out() const;
  MessageStatistics statistics(StatisticsPath path) const;
  void set_timeout(Nanoseconds timeout) { config_.timeout = timeout; }
  void set_ack_threshold(std::uint32_t packets);
  std::size_t contacted_peers() const { return contacted_.size(); }
  PeerLoad load(PeerIndex peer) const;

  // For the words of a task that dies (fault_names.h); null: there is none.
  PeerIndex self() const { return config_.self; }
  const IncomingMessage* incoming_message(PeerIndex from, std::uint32_t id) const;
  const PendingRequest* pending_request(std::uint32_t id) { return requests_.find(id); }
  const OutgoingMessage* sent_from(const void* address) const { return outgoing_.sent_from(address); }

 private:
  struct Loss {
    PeerIndex peer;
    Fault fault;
  };

  // What the origin is told when its buffers may be changed.
  struct OriginNotice {
    std::uint64_t counter;
    const HandlerCall& handler;
  };

  struct PendingFence {
    std::uint64_t number;        // its low half is the ticket that peers are told
    std::uint32_t remaining;     // peers that have not answered
    std::uint64_t last_request;  // as in FenceTicket
    std::uint64_t last_own;      // messages to oneself that had to wait: up to this one they belong to the fence
    FenceState outcome;          // when nothing remains
  };

  // endpoint_progress.cc
  unsigned take_arrivals();
  [[gnu::noinline]] unsigned move_what_waits(bool arrivals);
  [[gnu::noinline]] unsigned move_what_time_moves();
  bool work_waits() const;
  bool timers_due(Step step);
  bool retry_is_due();

  // endpoint_open.cc
  Peer* contact(PeerIndex index) {
    if (index >= peers_.size()) [[unlikely]]
      return nullptr;
    Peer* peer = peers_[index].get();
    return peer != nullptr ? peer : first_contact(index);
  }
  Peer* first_contact(PeerIndex index);
  std::unique_ptr<Peer> make_peer(PeerIndex index);

  // endpoint_send.cc
  using Pieces = std::span<const ConstBuffer>;
  bool send_record(Peer& peer, Pieces pieces, std::uint32_t length);
  [[gnu::noinline]] void queue_record(Peer& peer, Pieces pieces, std::uint32_t length, bool user_copy);
  void enqueue(Peer& peer, QueuedRecord record);
  void post(Peer& peer, Pieces pieces, std::uint32_t length);
  void post_answer(Peer& peer, ConstBuffer record);
  template <typename Body>
  void post_record(Peer& peer, wire::RecordKind kind, const Body& body);
  template <typename Body>
  void answer(Peer& peer, wire::RecordKind kind, const Body& body);
  unsigned flush_backlog(Peer& peer);
  unsigned serve_pending_peers();
  void look_whether_pending(Peer& peer);
  void give_number(OutgoingMessage& message);
  OutgoingMessage& store(OutgoingMessage message);
  OutgoingMessage* store_answer(Peer& peer, OutgoingMessage message, std::uint32_t request_id);
  bool pump(Peer& peer, OutgoingMessage& message);
  bool send_fragments(Peer& peer, OutgoingMessage& message);
  bool send_fragment(Peer& peer, OutgoingMessage& message);
  void fragment_left(Peer& peer, OutgoingMessage& message, std::uint64_t bytes);
  unsigned pump_queue(Peer& peer);
  void finish_sending(OutgoingMessage& message);
  void set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage);
  void forget(OutgoingMessage& message);
  bool requests_exhausted(Peer& peer) const;
  static std::unique_ptr<std::byte[]> room_for_long_copy(std::uint64_t bytes);
  void keep_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room);
  void take_copy(Peer& peer);
  void return_copy(Peer& peer);
  bool copies_exhausted(const Peer& peer) const;
  bool keeps_exhausted(const Peer& peer) const;
  bool own_exhausted() const;
  // What was accepted from other contexts' handlers must begin, and is bounded where it is accepted.
  bool handlers_bounded() const { return guest_depth_ == 0; }
  bool owes_too_much(const Peer& peer, std::uint64_t completion_counter) const {
    if (completion_counter == 0 || peer.owed.size() < tuning::kMostOwedCounters) return false;
    return inline_depth_ == 0 || (handlers_bounded() && peer.owed.size() >= tuning::kMostOwedToHandlers);
  }
  // The answer of a get or read-modify-write is here, or there will be none.
  void request_done(Peer& peer, std::uint32_t id, std::uint64_t list_bytes) {
    requests_.remove(id);
    --peer.requests_waiting;
    if (list_bytes != 0) [[unlikely]]
      count_lists(peer, -list_bytes);
  }
  void count_lists(Peer& peer, std::uint64_t more) {
    peer.list_bytes += more;
    list_bytes_ += more;
  }
  void count_sent(const Peer& peer, std::uint64_t data_bytes) {
    ++sends_completed_;
    statistics_of(peer).data_sent += data_bytes;
  }
  MessageStatistics& statistics_of(const Peer& peer) {
    return statistics_[static_cast<std::size_t>(peer.is_direct() ? StatisticsPath::shared_memory
                                                                 : StatisticsPath::network)];
  }

  // endpoint_deliver.cc
  // The handler waits until the engine is off the stack or at the end of its step: it may begin operations.
  void origin_is_free(PeerIndex target, const OriginNotice& notice) {
    move_counter(notice.counter, target);
    if (notice.handler.function != nullptr) [[unlikely]]
      keep_send_handler(target, notice.handler);
  }
  [[gnu::noinline]] void keep_send_handler(PeerIndex target, const HandlerCall& handler);
  void run_get_handler(PeerIndex source, const HandlerCall& handler);
  [[gnu::noinline]] void run_send_handlers();

  // endpoint_recovery.cc
  Submit refusal(PeerIndex index) const { return purged(index) ? Submit::purged : Submit::unreachable; }

  // A completion counter that the peer will move when it has the data, if the operation was accepted.
  static Submit owe(Peer& peer, std::uint64_t completion_counter, Submit result) {
    if (result == Submit::accepted) peer.owed.add(completion_counter);
    return result;
  }

  // One of this task's counters moves because of an operation from or to `by`.
  [[gnu::always_inline]] void move_counter(std::uint64_t counter, PeerIndex by) {
    if (counters_watched_ && counter != 0) [[unlikely]]
      host_.counter_moves(counter, by);
    add_to_counter(counter);
  }

  // endpoint_submit.cc
  [[gnu::always_inline]] inline Submit submit_single(Peer& peer, Pieces pieces, std::uint32_t length,
                                                     std::uint64_t data, const OriginNotice& notice);
  [[gnu::noinline]] Submit submit_long(Peer& peer, OutgoingMessage message, BulkHint bulk);
  void sent_for_the_origin(Peer& peer, OutgoingMessage& message);
  void offer_attach(Peer& peer, OutgoingMessage message);
  [[gnu::noinline]] Submit put_to_self(const PutRequest& request);
  [[gnu::noinline]] Submit message_to_self(const ActiveMessageRequest& request);

  // endpoint_layout_send.cc
  Submit submit_layout(Peer& peer, const LayoutParts& parts, const OriginNotice& notice);
  Submit submit_guarded(Peer& peer, const LayoutRecord& record, std::uint64_t data, const OriginNotice& notice);
  Submit submit_long_layout(Peer& peer, OutgoingMessage message, std::unique_ptr<std::byte[]> room);
  void keep_layout_copy(OutgoingMessage& message, std::unique_ptr<std::byte[]> room);
  bool send_layout_fragment(Peer& peer, OutgoingMessage& message);
  bool may_attach(const Peer& peer, OutgoingMessage& message) const;
  void offer_layout_attach(Peer& peer, OutgoingMessage message);
  Submit put_layout_to_self(const LayoutPutRequest& request);
  Submit layout_message_to_self(const LayoutMessageRequest& request);

  // endpoint_guard.cc
  enum class Attempt : std::uint8_t { sent, no_room, memory_fault };
  bool is_guarded(const LayoutCursor& layout) const { return guard_layouts_ || layout.guarded(); }
  Attempt try_to_send(Peer& peer, const LayoutRecord& record, bool guarded);
  bool scatter(LayoutCursor& layout, std::uint64_t offset, std::span<const std::byte> data);
  void place_data(Peer& from, IncomingMessage& message, std::uint64_t offset, std::span<const std::byte> data);
  void place_answer(PendingRequest& request, std::uint64_t offset, std::span<const std::byte> data);
  bool copy_guarded(LayoutCursor& from, LayoutCursor& to);
  void source_failed(OutgoingMessage& message);
  Submit withdraw(Peer& peer, OutgoingMessage& message);

  // endpoint_layout_receive.cc
  void on_put_pieces(Peer& from, const wire::Record& record);
  void on_put_strided(Peer& from, const wire::Record& record);
  void place_put(Peer& from, const PutFragment& put, LayoutCursor& layout, std::span<const std::byte> data);
  Submit get_layout_from_self(const LayoutGetRequest& request);
  void send_layout_request(Peer& peer, std::uint32_t id, const LayoutCursor& source, std::uint64_t target_counter);
  void on_get_layout(Peer& from, const wire::Record& record);
  void answer_layout(Peer& from, const wire::GetLayoutBody& body, std::span<const std::byte> description);
  OutgoingMessage* layout_answer(Peer& from, const wire::GetLayoutBody& body, std::vector<std::byte> description);

  // endpoint_receive.cc
  unsigned receive_direct(Transport& transport);
  void handle_packet(Peer& from, std::span<std::byte> packet);
  void handle_record(Peer& from, const wire::Record& record);
  void dispatch_record(Peer& from, const wire::Record& record);
  [[gnu::noinline]] void dispatch_longer_record(Peer& from, const wire::Record& record);
  void on_put(Peer& from, const wire::Record& record);
  [[gnu::noinline]] void begin_long_put(Peer& from, const wire::Record& record, const CompletionRun& run,
                                        std::byte* target);
  void on_data(Peer& from, const wire::Record& record);
  void on_get_request(Peer& from, const wire::Record& record);
  void on_get_data(Peer& from, const wire::Record& record);
  void on_counter_update(Peer& from, const wire::Record& record);
  void on_rmw_request(Peer& from, const wire::Record& record);
  void on_rmw_reply(Peer& from, const wire::Record& record);
  void on_attach_done(Peer& from, const wire::Record& record);
  void on_memory_read(Peer& from, const wire::Record& record);
  void on_collective(Peer& from, const wire::Record& record);
  void request_complete(std::uint32_t id, Peer* from);
  void begin_incoming(Peer& from, const wire::Record& record, IncomingMessage message);
  IncomingMessage* add_incoming(Peer& from, std::uint32_t id, IncomingMessage message);
  void fragment_arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes);
  void ghost() { ++network_ghosts_; }

  // endpoint_deliver.cc
  void on_active_message(Peer& from, const wire::Record& record);
  HeaderVerdict ask_header_handler(const WholeMessage& message);
  [[gnu::always_inline]] inline void data_in_place(Peer* from, std::uint64_t number, const CompletionRun& run,
                                                   CompletionStyle style, std::uint64_t data_bytes);
  [[gnu::always_inline]] inline void move_counters(const CompletionRun& run);
  [[gnu::noinline]] void run_completion(Peer* from, const CompletionRun& run, CompletionStyle style);
  [[gnu::noinline]] void update_completion_counter(const CompletionRun& run);
  bool deliver_whole(const WholeMessage& message);
  bool obey(const HeaderVerdict& verdict, const WholeMessage& message);
  [[gnu::noinline]] void deliver_to_layout(const WholeMessage& message, const HeaderVerdict& verdict);
  [[gnu::noinline]] void begin_long_message(Peer& from, const wire::Record& record);
  [[gnu::noinline]] bool keep_waiting(const WholeMessage& message);
  unsigned retry_waiting();
  bool retry(WaitingMessage& waiting);
  bool retry_long(WaitingMessage& waiting);
  CompletionRun completion_run(PeerIndex source, const wire::ActiveMessageBody& body,
                               const HeaderVerdict& verdict) const;

  // endpoint_reads.cc
  void begin_read(DirectRead read);
  unsigned advance_reads();
  bool advance_read(DirectRead& read);
  bool advance_get(DirectRead& read, Peer& peer);
  bool advance_attach(DirectRead& read, Peer& peer);
  void finish_attach(const DirectRead& read, Peer& peer, IncomingMessage& message, std::uint64_t bytes);
  void refuse_attach(const DirectRead& read, Peer& peer, IncomingMessage& message);

  // endpoint_bulk.cc
  bool wants_bulk(const Peer& peer, BulkHint hint, std::uint64_t length) const;
  bool may_try_bulk(Peer& peer);
  void bulk_failed(Peer& peer);
  void bulk_succeeded(Peer& peer) {
    ++statistics_of(peer).bulk_sent;
    peer.bulk_failures = 0;
  }
  bool expose(Peer& peer, OutgoingMessage& message);
  bool offer_bulk(Peer& peer, OutgoingMessage& message);
  bool offer_key(Peer& peer, std::uint32_t request_id, OutgoingMessage& message);
  void on_get_key(Peer& from, const wire::Record& record);
  void pull_message(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t source_address,
                    const MemoryKey& key);
  void begin_pull(Peer& from, BulkPull pull);
  unsigned advance_pulls();
  bool advance_pull(std::uint32_t id, BulkPull& pull);
  unsigned take_endings();
  void read_ended(const BulkMemory::Ending& ending);
  void end_pull(std::uint32_t id, const BulkPull& pull);
  void give_up_pulls(Peer& peer);

  // endpoint_layout_reads.cc
  std::uint64_t read_layout(Peer& peer, LayoutCursor& remote, LayoutCursor& local, std::uint64_t offset,
                            std::uint64_t most);
  bool advance_layout_attach(DirectRead& read, Peer& peer, IncomingMessage& message);
  bool read_description(DirectRead& read, Peer& peer, IncomingMessage& message);
  void send_get_request(Peer& peer, std::uint32_t id, std::uint64_t address, std::uint64_t length,
                        std::uint64_t target_counter, std::uint8_t flags = 0);

  // endpoint_refuse.cc
  static bool is_for_own_memory(const wire::Record& record);
  static bool is_own_layout(const wire::LayoutDescription& layout);
  void refuse(Peer& from, const wire::Record& record);
  void refuse_request(Peer& from, std::uint32_t request_id);
  void no_memory_for(Peer& from, std::uint32_t request_id);
  void bury_part(Peer& from, PutFragment put, std::span<const std::byte> data);
  void on_request_refused(Peer& from, const wire::Record& record);
  // Operations of a 32-bit task on itself. True: it names what is not there, and has ended.
  bool refuse_own(const PutRequest& request);
  bool refuse_own(const GetRequest& request);
  bool refuse_own(const RmwRequest& request);
  bool refuse_own(const ActiveMessageRequest& request);
  bool refuse_own(const LayoutPutRequest& request);
  bool refuse_own(const LayoutGetRequest& request);
  bool refuse_own(const LayoutMessageRequest& request);
  void end_own_request(std::uint64_t origin_counter);
  void end_own_message(const OriginNotice& origin, std::uint64_t completion_counter);

  // endpoint_fence.cc
  void on_fence_request(Peer& from, const wire::Record& record);
  void on_fence_reply(Peer& from, const wire::Record& record);
  void message_finished(Peer& from, std::uint64_t number) {
    ++from.messages_finished;
    if (!from.fence_requests.empty()) [[unlikely]]
      answer_fences(from, number);
  }
  [[gnu::noinline]] void answer_fences(Peer& from, std::uint64_t number);
  void ask_held_fences(Peer& peer);
  void fail_collective(PeerIndex lost);
  void report_failed_collective();
  void collective_arrived(Peer& from, std::uint32_t sequence, std::uint32_t round, std::vector<std::byte> bytes);
  void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                  std::span<const std::byte> bytes) override;

  // endpoint_faults.cc
  unsigned run_timers(Nanoseconds now);
  void watch_peers(Nanoseconds now);
  void watch_direct_peer(Peer& peer, Nanoseconds now);
  void ask_direct_peer(Peer& peer, Nanoseconds now);
  void watch_turn(ReliableDelivery& delivery, Nanoseconds now);
  void watch_gone_peer(Peer& peer, Nanoseconds now);
  void look_soon();
  bool something_outstanding(const Peer& peer) const;
  void give_up(Peer& peer, Fault fault);
  void give_up_counters(Peer& peer, CounterLoss why);
  void give_up_messages(Peer& peer, Fault fault, CounterLoss why);
  void give_up_fences(Peer& peer, CounterLoss why);
  void lose(Peer& peer, Fault fault);
  bool tell_beginning(Peer& peer);
  bool follow(Peer& peer);
  void on_beginning(Peer& from, std::uint32_t era);
  void restarted(Peer& peer, bool lost = false);
  // False: the peer may not make this task keep one more thing of so many bytes, and is dropped.
  bool may_keep(Peer& peer, std::uint64_t bytes) {
    if (peer.kept.has_room(bytes) && !peer.closed) [[likely]]
      return true;
    drop(peer, Fault::too_much_kept);
    return false;
  }
  [[gnu::noinline]] void drop(Peer& peer, Fault why);
  [[gnu::noinline]] void part_from_dropped();
  void part_from(PeerIndex index, Fault why);
  [[gnu::noinline]] void report_losses();

  // ChannelListener (endpoint_faults.cc, endpoint_send.cc, endpoint_receive.cc)
  ChannelPath* channel_path(PeerIndex source, bool may_be_new) override;
  void channel_delivered(PeerIndex source, std::span<std::byte> payload) override;
  void channel_acknowledged(PeerIndex peer, std::uint64_t tag) override;
  void channel_restarted(PeerIndex peer, bool lost) override;
  void channel_timed_out(PeerIndex peer) override;
  void channel_has_other_key(PeerIndex peer, bool for_long) override;
  void channel_has_other_version(PeerIndex peer, std::uint8_t version) override;

  EndpointConfig config_;
  Clock& clock_;
  RouteResolver& resolver_;
  HandlerHost& host_;
  std::vector<DirectTransport> direct_transports_;
  std::unique_ptr<ChannelSet> channels_;      // all unreliable transports; null: there are none
  std::vector<std::unique_ptr<Peer>> peers_;  // by task; null until first contact
  std::vector<Peer*> contacted_;
  RequestTable requests_;
  Collective collective_;
  bool collective_purged_ = false;  // it failed, or will, because a peer is purged
  std::unordered_map<PeerIndex, FormerPeer> former_;
  std::uint32_t purged_peers_ = 0;
  LostCounters lost_counters_;
  bool counters_watched_ = false, guard_layouts_ = false;
  std::unordered_map<PeerIndex, std::uint32_t> expected_;  // by whom something is waited for: how many wait

  OutgoingMessages outgoing_;
  std::uint64_t next_message_;
  std::uint32_t copies_waiting_ = 0;                   // the sum of all Peer::copies_waiting
  std::uint64_t list_bytes_ = 0;                       // the sum of all Peer::list_bytes
  LinkedList<Peer, &Peer::in_pending> pending_peers_;  // served in turn
  std::size_t pending_count_ = 0;

  std::deque<WaitingMessage> waiting_;
  std::uint64_t own_kept_ = 0;    // messages to oneself that had to wait, so far
  std::size_t own_waiting_ = 0;   // and that do so now
  std::size_t untried_ = 0;  // among so many of waiting_, the first ones, are some that were not tried at all
  Nanoseconds next_retry_ = 0, last_watch_ = 0, turn_asked_ = 0, turn_since_ = 0;
  ReliableDelivery::Turn turn_seen_{};
  std::deque<DirectRead> reads_;
  std::map<std::uint32_t, BulkPull> pulls_;  // oldest first, until the numbers wrap
  std::uint32_t next_pull_, bulk_reads_ = 0;  // never 0; of all pulls, begun and not ended
  std::vector<BulkMemory*> bulk_memories_;  // of all transports
  std::vector<PendingFence> fences_;
  std::uint64_t next_fence_;
  unsigned inline_depth_ = 0;  // > 0 while an inline completion handler calls, whose bounds are wider
  unsigned guest_depth_ = 0;   // > 0 while another context's handler does: nothing is answered `busy`
  std::vector<SendCompletion> send_completions_, running_completions_;  // whose handlers have to run; that do so now
  std::vector<Loss> losses_, dropped_;         // to be reported at the end of progress(); to be parted from there
  std::vector<std::unique_ptr<Peer>> buried_;  // purged by handlers of this step, which may still refer to them
  bool stepping_ = false;

  std::array<MessageStatistics, 3> statistics_{};
  std::uint64_t network_ghosts_ = 0, sends_completed_ = 0, receives_completed_ = 0;
  bool arrivals_ = false, arrivals_held_ = false;  // the present step has received something; nothing may be received
  mutable std::uint32_t idle_loops_ = 0;
};

template <typename Body>
void EndpointCore::post_record(Peer& peer, wire::RecordKind kind, const Body& body) {
  const RecordBytes fixed(kind, body);
  const ConstBuffer piece = fixed.piece();
  post(peer, {&piece, 1}, fixed.length());
}

template <typename Body>
void EndpointCore::answer(Peer& peer, wire::RecordKind kind, const Body& body) {
  post_answer(peer, RecordBytes(kind, body).piece());
}

}  // namespace openlapi
