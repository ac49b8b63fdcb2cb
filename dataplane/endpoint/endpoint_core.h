// The state behind Endpoint and the steps that change it. One file per concern: endpoint_open.cc (construction, first
// contact), endpoint_submit.cc (operations begin), endpoint_send.cc (records and long messages leave),
// endpoint_receive.cc (records arrive), endpoint_deliver.cc (active messages and completion), endpoint_reads.cc
// (reading a peer's memory), endpoint_fence.cc (fences, collectives), endpoint_faults.cc (timers, lost and restarted
// peers), endpoint_progress.cc (the loop).
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "dataplane/endpoint/channel_set.h"
#include "dataplane/endpoint/endpoint.h"
#include "dataplane/endpoint/outgoing_message.h"
#include "dataplane/endpoint/peer.h"
#include "dataplane/endpoint/record_bytes.h"
#include "dataplane/operation/collective.h"
#include "dataplane/operation/request_table.h"

namespace openlapi {

class EndpointCore final : public Collective::Outbox, public ChannelListener {
 public:
  EndpointCore(const EndpointConfig& config, std::span<Transport* const> transports, Clock& clock,
               RouteResolver& resolver, HandlerHost& host);

  // endpoint_submit.cc
  Submit put(const PutRequest& request);
  Submit get(const GetRequest& request);
  Submit active_message(const ActiveMessageRequest& request);
  Submit read_modify_write(const RmwRequest& request);

  // endpoint_progress.cc
  unsigned progress();
  ArrivalWord arrival_word() const;
  void flush();
  Nanoseconds deadline() const;
  bool has_work() const;
  bool drained();

  // endpoint_deliver.cc
  void completion_returned(const CompletionRun& run);
  bool reply_has_room(PeerIndex peer);

  // endpoint_fence.cc
  FenceTicket begin_fence();
  FenceState fence_state(const FenceTicket& ticket);
  void begin_barrier();
  void begin_exchange(std::uint64_t value);
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

 private:
  // An active message whose header handler said "drop", or one to oneself that has to wait its turn. Of a long one
  // the data lies in Peer::incoming, in a buffer of ours.
  struct WaitingMessage {
    PeerIndex source;
    wire::ActiveMessageBody body;
    std::vector<std::byte> user_header;
    std::vector<std::byte> data;
    bool is_long;
    std::uint32_t message_id;
    std::uint64_t length;
    std::uint32_t number;  // of the short one, as in IncomingMessage
  };

  // An active message in one piece, wherever it lies.
  struct WholeMessage {
    PeerIndex source;
    wire::ActiveMessageBody body;
    void* user_header;
    std::uint32_t user_header_length;
    void* data;
    std::uint64_t length;
    bool one_packet;           // the header handler gets to see `data`
    std::uint32_t number = 0;  // as in IncomingMessage; of one to oneself 0
  };

  // A large message or get whose bytes are read from the peer's memory, piece by piece.
  struct DirectRead {
    PeerIndex peer;
    bool is_get;
    std::uint32_t id;  // of the incoming message, or of the request
    std::uint64_t source_address;
    std::uint64_t target_counter;  // get: the target's counter
  };

  struct Loss {
    PeerIndex peer;
    Fault fault;
  };

  struct PendingFence {
    std::uint32_t number;
    std::uint32_t remaining;  // peers that have not answered
    bool peer_lost;
  };

  // endpoint_progress.cc
  unsigned move_what_waits(bool arrivals);
  bool work_waits() const;
  bool timers_due();
  bool retry_is_due();

  // endpoint_open.cc
  Peer* contact(PeerIndex index);
  std::unique_ptr<Peer> make_peer(PeerIndex index);

  // endpoint_send.cc
  using Pieces = std::span<const ConstBuffer>;
  bool send_record(Peer& peer, Pieces pieces, std::uint32_t length);
  void queue_record(Peer& peer, Pieces pieces, std::uint32_t length, bool user_copy);
  void post(Peer& peer, Pieces pieces, std::uint32_t length);
  template <typename Body>
  void post_record(Peer& peer, wire::RecordKind kind, const Body& body);
  unsigned flush_backlog(Peer& peer);
  unsigned flush_backlogs();
  OutgoingMessage& store(OutgoingMessage message);
  bool pump(Peer& peer, OutgoingMessage& message);
  bool send_fragment(Peer& peer, OutgoingMessage& message);
  unsigned pump_outgoing();
  void finish_sending(OutgoingMessage& message);
  void set_stage(OutgoingMessage& message, OutgoingMessage::Stage stage);
  bool requests_exhausted(const Peer& peer) const;
  void keep_copy(OutgoingMessage& message);
  bool copies_exhausted() const { return copies_waiting_ >= config_.copy_buffers && inline_depth_ == 0; }
  void count_sent(const Peer& peer, std::uint64_t data_bytes);
  MessageStatistics& statistics_of(const Peer& peer);

  // endpoint_submit.cc
  Submit submit_single(Peer& peer, Pieces pieces, std::uint32_t length, std::uint64_t data, std::uint64_t counter);
  Submit submit_long(Peer& peer, OutgoingMessage message);
  void offer_attach(Peer& peer, OutgoingMessage message);
  Submit put_to_self(const PutRequest& request);
  Submit message_to_self(const ActiveMessageRequest& request);

  // endpoint_receive.cc
  unsigned receive_direct(Transport& transport);
  void handle_packet(Peer& from, std::span<std::byte> packet);
  void handle_record(Peer& from, const wire::Record& record);
  void on_put(Peer& from, const wire::Record& record);
  void on_data(Peer& from, const wire::Record& record);
  void on_get_request(Peer& from, const wire::Record& record);
  void on_get_data(Peer& from, const wire::Record& record);
  void on_rmw_request(Peer& from, const wire::Record& record);
  void on_rmw_reply(Peer& from, const wire::Record& record);
  void on_attach_done(Peer& from, const wire::Record& record);
  void on_memory_read(Peer& from, const wire::Record& record);
  void on_collective(Peer& from, const wire::Record& record);
  void request_complete(std::uint32_t id, Peer* from);
  void begin_incoming(Peer& from, const wire::Record& record, IncomingMessage message);
  void fragment_arrived(Peer& from, std::uint32_t id, IncomingMessage& message, std::uint64_t bytes);
  void ghost() { ++network_ghosts_; }

  // endpoint_deliver.cc
  void on_active_message(Peer& from, const wire::Record& record);
  HeaderVerdict ask_header_handler(const WholeMessage& message);
  void data_in_place(Peer* from, std::uint32_t number, const CompletionRun& run, CompletionStyle style,
                     std::uint64_t data_bytes);
  void move_counters(const CompletionRun& run);
  bool deliver_whole(const WholeMessage& message);
  void begin_long_message(Peer& from, const wire::Record& record);
  void keep_waiting(const WholeMessage& message);
  unsigned retry_waiting();
  bool retry(WaitingMessage& waiting);
  bool retry_long(WaitingMessage& waiting);
  CompletionRun completion_run(PeerIndex source, const wire::ActiveMessageBody& body,
                               const HeaderVerdict& verdict) const;

  // endpoint_reads.cc
  void begin_read(const DirectRead& read);
  unsigned advance_reads();
  bool advance_read(const DirectRead& read);
  bool advance_get(const DirectRead& read, Peer& peer);
  bool advance_attach(const DirectRead& read, Peer& peer);
  void send_get_request(Peer& peer, std::uint32_t id, std::uint64_t address, std::uint64_t length,
                        std::uint64_t target_counter);

  // endpoint_fence.cc
  void on_fence_request(Peer& from, const wire::Record& record);
  void on_fence_reply(Peer& from, const wire::Record& record);
  void message_finished(Peer& from, std::uint32_t number);
  void ask_held_fences(Peer& peer);
  void send_round(PeerIndex peer, std::uint32_t sequence, std::uint32_t round,
                  std::span<const std::byte> bytes) override;

  // endpoint_faults.cc
  unsigned run_timers();
  void watch_peers(Nanoseconds now);
  void watch_direct_peer(Peer& peer, Nanoseconds now);
  bool something_outstanding(const Peer& peer) const;
  void give_up(Peer& peer);
  void lose(Peer& peer, Fault fault);
  void report_losses();

  // ChannelListener (endpoint_faults.cc, endpoint_send.cc, endpoint_receive.cc)
  ChannelPath* channel_path(PeerIndex source) override;
  void channel_delivered(PeerIndex source, std::span<std::byte> payload) override;
  void channel_acknowledged(PeerIndex peer, std::uint64_t tag) override;
  void channel_restarted(PeerIndex peer) override;
  void channel_timed_out(PeerIndex peer) override;

  EndpointConfig config_;
  Clock& clock_;
  RouteResolver& resolver_;
  HandlerHost& host_;
  std::vector<Transport*> direct_transports_;
  std::unique_ptr<ChannelSet> channels_;  // all unreliable transports; null: there are none

  std::vector<std::unique_ptr<Peer>> peers_;  // by task; null until first contact
  std::vector<Peer*> contacted_;
  RequestTable requests_;
  Collective collective_;
  bool collective_peer_lost_ = false;

  std::map<std::uint32_t, OutgoingMessage> outgoing_;  // by id: oldest first
  std::uint32_t next_message_id_ = 1;
  std::uint32_t copies_waiting_ = 0;
  std::uint32_t backlogged_peers_ = 0;  // peers whose backlog is not empty
  std::uint32_t sending_ = 0;           // outgoing messages in Stage::sending

  std::vector<WaitingMessage> waiting_;
  bool retry_now_ = false;  // one of waiting_ has not been tried at all
  Nanoseconds next_retry_ = 0;
  std::deque<DirectRead> reads_;
  std::vector<PendingFence> fences_;
  std::uint32_t next_fence_ = 1;
  unsigned inline_depth_ = 0;  // > 0 while an inline completion handler runs: nothing is answered `busy`
  std::vector<Loss> losses_;   // to be reported at the end of progress()

  std::array<MessageStatistics, 3> statistics_{};
  std::uint64_t network_ghosts_ = 0;
  std::uint64_t sends_completed_ = 0;
  std::uint64_t receives_completed_ = 0;

  bool arrivals_ = false;  // the present step has received something
  mutable std::uint32_t idle_loops_ = 0;
  Nanoseconds last_watch_ = 0;
};

template <typename Body>
void EndpointCore::post_record(Peer& peer, wire::RecordKind kind, const Body& body) {
  const RecordBytes fixed(kind, body);
  const ConstBuffer piece = fixed.piece();
  post(peer, {&piece, 1}, fixed.length());
}

}  // namespace openlapi
